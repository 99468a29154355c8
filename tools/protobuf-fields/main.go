// Prints the numbers, names and types of the fields of Kubernetes' API types on the wire, as JSON:
// what src/bayplan/apiserver/protobuf/fields.json holds.
//
//	go run . > ../../src/bayplan/apiserver/protobuf/fields.json
//
// For each message, field number → [name in JSON, type]. Types: s string, i integer, b boolean, d double, y bytes,
// or the name of a message; "[" before it for lists, "{" for maps from strings. A field without a name is inlined.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	admission "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	autoscaling "k8s.io/api/autoscaling/v1"
	autoscaling2 "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	events "k8s.io/api/events/v1"
	networking "k8s.io/api/networking/v1"
	node "k8s.io/api/node/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	resource "k8s.io/api/resource/v1"
	scheduling "k8s.io/api/scheduling/v1"
	storage "k8s.io/api/storage/v1"
	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Types with a form of their own in JSON; the reader knows them by name.
var special = map[string]bool{
	"meta.v1.Time": true, "meta.v1.MicroTime": true, "meta.v1.Duration": true, "meta.v1.FieldsV1": true,
	"api.resource.Quantity": true, "util.intstr.IntOrString": true, "pkg.runtime.RawExtension": true,
	"apiextensions.v1.JSON": true,
}

var messages = map[string]map[string][2]string{}

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		core.AddToScheme, apps.AddToScheme, batch.AddToScheme, policy.AddToScheme, storage.AddToScheme,
		scheduling.AddToScheme, coordination.AddToScheme, events.AddToScheme, rbac.AddToScheme,
		discovery.AddToScheme, resource.AddToScheme, authentication.AddToScheme, authorization.AddToScheme,
		autoscaling.AddToScheme, autoscaling2.AddToScheme, networking.AddToScheme, node.AddToScheme,
		admission.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	for _, kind := range scheme.AllKnownTypes() {
		if strings.HasPrefix(kind.PkgPath(), "k8s.io/api/") && !strings.HasSuffix(kind.Name(), "List") {
			visit(kind)
		}
	}
	visit(reflect.TypeOf(meta.DeleteOptions{}))
	visit(reflect.TypeOf(extensions.CustomResourceDefinition{}))
	encoded, err := json.Marshal(messages)
	if err != nil {
		panic(err)
	}
	text := strings.ReplaceAll(string(encoded), "},", "},\n")
	fmt.Fprintln(os.Stdout, text)
}

func visit(message reflect.Type) string {
	parts := strings.Split(message.PkgPath(), "/")
	name := strings.Join(parts[len(parts)-2:], ".") + "." + message.Name()
	if special[name] || messages[name] != nil {
		return name
	}
	fields := map[string][2]string{}
	messages[name] = fields
	if message.Kind() == reflect.Slice { // a list that is a message of its own
		fields["1"] = [2]string{"", "[" + typeOf(message.Elem())}
		return name
	}
	for i := range message.NumField() {
		field := message.Field(i)
		tag := strings.Split(field.Tag.Get("protobuf"), ",")
		if len(tag) < 2 {
			continue
		}
		jsonName := strings.Split(field.Tag.Get("json"), ",")[0]
		fields[tag[1]] = [2]string{jsonName, typeOf(field.Type)}
	}
	return name
}

func typeOf(field reflect.Type) string {
	switch field.Kind() {
	case reflect.Pointer:
		return "*" + typeOf(field.Elem())
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "b"
	case reflect.Int32, reflect.Int64, reflect.Int:
		return "i"
	case reflect.Float64:
		return "d"
	case reflect.Map:
		return "{" + typeOf(field.Elem())
	case reflect.Slice:
		if field.Elem().Kind() == reflect.Uint8 {
			return "y"
		}
		if field.Name() == "Verbs" || field.Name() == "ExtraValue" || field.Name() == "AttestationValue" {
			return visit(field)
		}
		return "[" + typeOf(field.Elem())
	case reflect.Struct:
		return visit(field)
	}
	panic(fmt.Sprint("no protobuf type for ", field))
}
