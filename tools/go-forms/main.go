// Tells how Go writes the types of Kubernetes' API as JSON. See README.md.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

func main() {
	if err := apiextensions.AddToScheme(scheme.Scheme); err != nil {
		log.Fatal(err)
	}
	switch {
	case len(os.Args) == 3 && os.Args[1] == "forms":
		printForms(os.Args[2])
	case len(os.Args) == 2 && os.Args[1] == "roundtrip":
		roundtrip()
	default:
		log.Fatal("usage: go-forms forms DOCUMENTS | go-forms roundtrip")
	}
}

// form is one definition's line of the table.
type form struct {
	Always   []string       `json:"always,omitempty"`
	Null     []string       `json:"null,omitempty"`
	Pointer  []string       `json:"pointer,omitempty"`
	Omitzero []string       `json:"omitzero,omitempty"`
	Default  map[string]any `json:"default,omitempty"`
	Enum     map[string]any `json:"enum,omitempty"`
}

var marshaler = reflect.TypeOf((*json.Marshaler)(nil)).Elem()

// printForms writes the table, one definition a line.
func printForms(documents string) {
	forms := map[string]*form{}
	for _, known := range scheme.Scheme.AllKnownTypes() {
		walk(known, forms)
	}
	names := addDocuments(documents, forms)
	sort.Strings(names)
	fmt.Println("{")
	for i, name := range names {
		line, _ := json.Marshal(forms[name])
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		fmt.Printf("%q: %s%s\n", name, line, comma)
	}
	fmt.Println("}")
}

func walk(t reflect.Type, forms map[string]*form) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		walk(t.Elem(), forms)
	case reflect.Struct:
		name := definition(t)
		if _, seen := forms[name]; !seen {
			forms[name] = &form{}
			if !reflect.PointerTo(t).Implements(marshaler) {
				addFields(t, forms[name], forms)
			}
		}
	}
}

// definition is the name that a type has in the published schemas.
func definition(t reflect.Type) string {
	module, rest, _ := strings.Cut(strings.TrimPrefix(t.PkgPath(), "k8s.io/"), "/")
	return "io.k8s." + module + "." + strings.ReplaceAll(rest, "/", ".") + "." + t.Name()
}

func addFields(t reflect.Type, into *form, forms map[string]*form) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || !field.IsExported() {
			continue
		}
		if name == "" && field.Anonymous {
			addFields(field.Type, into, forms)
			continue
		}
		into.add(name, field.Type, strings.Split(options, ","))
		walk(field.Type, forms)
	}
}

func (f *form) add(name string, t reflect.Type, options []string) {
	omitempty, omitzero := slices.Contains(options, "omitempty"), slices.Contains(options, "omitzero")
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !omitempty && !omitzero {
			f.Null = append(f.Null, name)
		} else if t.Kind() == reflect.Pointer && t.Elem().Kind() != reflect.Struct {
			f.Pointer = append(f.Pointer, name)
		}
	case reflect.Struct:
		if omitzero {
			f.Omitzero = append(f.Omitzero, name)
		} else {
			f.Always = append(f.Always, name)
		}
	default:
		if !omitempty && !omitzero {
			f.Always = append(f.Always, name)
		}
	}
}

type property struct {
	Default any       `json:"default"`
	Enum    []any     `json:"enum"`
	Items   *property `json:"items"`
}

type document struct {
	Components struct {
		Schemas map[string]struct {
			Properties map[string]property `json:"properties"`
		} `json:"schemas"`
	} `json:"components"`
}

// addDocuments adds what only OpenAPI tells: defaults that are no zero of an `always` field, and enumerations.
// It returns the definitions that are served and of which there is something to say.
func addDocuments(folder string, forms map[string]*form) (names []string) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		log.Fatalf("no documents in %s", folder)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			log.Fatal(err)
		}
		var read document
		if err := json.Unmarshal(text, &read); err != nil {
			log.Fatalf("%s: %v", file, err)
		}
		for name, schema := range read.Components.Schemas {
			found := forms[name]
			if found == nil {
				continue
			}
			for field, told := range schema.Properties {
				found.addTold(field, told)
			}
			if !slices.Contains(names, name) && !reflect.DeepEqual(*found, form{}) {
				names = append(names, name)
			}
		}
	}
	return names
}

func (f *form) addTold(field string, told property) {
	implied := told.Default == nil || reflect.ValueOf(told.Default).IsZero() && slices.Contains(f.Always, field)
	if _, isStruct := told.Default.(map[string]any); !isStruct && !implied {
		if f.Default == nil {
			f.Default = map[string]any{}
		}
		f.Default[field] = told.Default
	}
	values := told.Enum
	if told.Items != nil && values == nil {
		values = told.Items.Enum
	}
	if values != nil {
		if f.Enum == nil {
			f.Enum = map[string]any{}
		}
		f.Enum[field] = values
	}
}

// roundtrip answers each line of JSON with what Go makes of it.
func roundtrip() {
	strict := serializer.NewSerializerWithOptions(
		serializer.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, serializer.SerializerOptions{Strict: true})
	stored := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		if err := answers.Encode(answer(lines.Bytes(), strict, stored)); err != nil {
			log.Fatal(err)
		}
	}
}

func answer(line []byte, strict, stored runtime.Serializer) map[string]any {
	told := map[string]any{}
	obj, kind, err := strict.Decode(line, nil, nil)
	if findings, ok := runtime.AsStrictDecodingError(err); ok {
		unknown := []string{}
		for _, finding := range findings.Errors() {
			unknown = append(unknown, finding.Error())
		}
		told["unknown"] = unknown
	} else if err != nil {
		return map[string]any{"error": err.Error()}
	}
	// What has no protobuf form is stored as JSON.
	if bytes, err := runtime.Encode(stored, obj); err == nil {
		if again, _, err := stored.Decode(bytes, nil, nil); err == nil {
			obj = again
		}
	}
	obj.GetObjectKind().SetGroupVersionKind(*kind)
	told["obj"] = obj
	return told
}
