package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	kubejson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
)

// What a configuration becomes (effective, expanded), or why it is refused (errors).
func recordConfiguration(ctx context.Context, given line) (line, error) {
	var text string
	if err := json.Unmarshal(given["config"], &text); err != nil {
		return nil, err
	}
	loaded, err := load([]byte(text))
	if err != nil {
		return put(given, "errors", []string{err.Error()})
	}
	if err := validation.ValidateKubeSchedulerConfiguration(loaded); err != nil {
		found := []string{}
		for _, each := range err.Errors() {
			found = append(found, each.Error())
		}
		return put(given, "errors", found)
	}
	made, err := newCluster(ctx, loaded, nil)
	if err != nil {
		return put(given, "errors", []string{err.Error()})
	}
	loaded.Profiles = made.profiles
	effective, err := encoded(loaded)
	if err != nil {
		return nil, err
	}
	given["effective"] = effective
	expanded := map[string]map[string][]plugin{}
	for name, profile := range made.scheduler.Profiles {
		expanded[name] = byPoint(profile.ListPlugins())
	}
	return put(given, "expanded", expanded)
}

func load(text []byte) (*config.KubeSchedulerConfiguration, error) {
	decoded, kind, err := scheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	loaded, ok := decoded.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("not a KubeSchedulerConfiguration: %s", kind)
	}
	loaded.TypeMeta.APIVersion = kind.GroupVersion().String()
	return loaded, nil
}

func encoded(loaded *config.KubeSchedulerConfiguration) ([]byte, error) {
	serializer := kubejson.NewSerializerWithOptions(kubejson.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, kubejson.SerializerOptions{})
	var text bytes.Buffer
	err := scheme.Codecs.EncoderForVersion(serializer, configv1.SchemeGroupVersion).Encode(loaded, &text)
	return bytes.TrimSpace(text.Bytes()), err
}

type plugin struct {
	Name   string `json:"name"`
	Weight int32  `json:"weight,omitempty"`
}

// Extension point → its plugins in order. The points are the fields of Plugins, whatever this release has.
func byPoint(plugins *config.Plugins) map[string][]plugin {
	found := map[string][]plugin{}
	fields := reflect.ValueOf(*plugins)
	for i := range fields.NumField() {
		set, ok := fields.Field(i).Interface().(config.PluginSet)
		name := fields.Type().Field(i).Name
		if !ok || name == "MultiPoint" || len(set.Enabled) == 0 {
			continue
		}
		point := strings.ToLower(name[:1]) + name[1:]
		for _, each := range set.Enabled {
			found[point] = append(found[point], plugin{each.Name, each.Weight})
		}
	}
	return found
}

func put(given line, key string, value any) (line, error) {
	text, err := json.Marshal(value)
	given[key] = text
	return given, err
}
