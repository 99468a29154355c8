package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

const (
	patience = 20 * time.Second
	pause    = 200 * time.Microsecond
)

// A scheduler over a client in memory, with its informers running.
type cluster struct {
	scheduler *scheduler.Scheduler
	client    *fake.Clientset
	informers informers.SharedInformerFactory
	mutex     sync.Mutex
	evicted   []string
	// As they are once all defaults are filled in.
	profiles []config.KubeSchedulerProfile
}

func newCluster(ctx context.Context, loaded *config.KubeSchedulerConfiguration, objects []runtime.Object) (*cluster, error) {
	made := &cluster{client: fake.NewSimpleClientset(objects...)}
	made.client.PrependReactor("delete", "pods", made.noteEviction)
	made.informers = informers.NewSharedInformerFactory(made.client, 0)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: made.client.EventsV1()})
	var err error
	made.scheduler, err = scheduler.New(
		ctx, made.client, made.informers, nil, profile.NewRecorderFactory(broadcaster),
		scheduler.WithComponentConfigVersion(loaded.TypeMeta.APIVersion),
		scheduler.WithProfiles(loaded.Profiles...),
		scheduler.WithPercentageOfNodesToScore(loaded.PercentageOfNodesToScore),
		scheduler.WithExtenders(loaded.Extenders...),
		scheduler.WithParallelism(1),
		scheduler.WithBuildFrameworkCapturer(func(profile config.KubeSchedulerProfile) {
			made.profiles = append(made.profiles, profile)
		}),
	)
	return made, err
}

func (made *cluster) start(ctx context.Context, nodes, pods int) error {
	made.informers.Start(ctx.Done())
	made.informers.WaitForCacheSync(ctx.Done())
	if err := made.scheduler.WaitForHandlersSync(ctx); err != nil {
		return err
	}
	return made.awaitCache(nodes, pods)
}

func (made *cluster) noteEviction(action clienttesting.Action) (bool, runtime.Object, error) {
	deleted := action.(clienttesting.DeleteAction)
	made.mutex.Lock()
	defer made.mutex.Unlock()
	made.evicted = append(made.evicted, deleted.GetNamespace()+"/"+deleted.GetName())
	return false, nil, nil
}

func (made *cluster) takeEvicted() []string {
	made.mutex.Lock()
	defer made.mutex.Unlock()
	taken := made.evicted
	made.evicted = nil
	return taken
}

// Until the scheduler has seen as many nodes, and pods on nodes, as there are.
func (made *cluster) awaitCache(nodes, pods int) error {
	return await(fmt.Sprintf("%d nodes and %d pods", nodes, pods), func() bool {
		known, err := made.scheduler.Cache.PodCount()
		return err == nil && known == pods && made.scheduler.Cache.NodeCount() == nodes
	})
}

func (made *cluster) create(ctx context.Context, pod *v1.Pod) error {
	if _, err := made.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	lister := made.informers.Core().V1().Pods().Lister()
	return await("pod "+pod.Name, func() bool {
		_, err := lister.Pods(pod.Namespace).Get(pod.Name)
		return err == nil
	})
}

func await(what string, is func() bool) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(pause) {
		if is() {
			return nil
		}
	}
	return fmt.Errorf("the scheduler has not seen %s in %s", what, patience)
}

// --- objects ---------------------------------------------------------------------------------------

// The lists of a scenario, with what the API server would fill in.
func objectsOf(given line) ([]runtime.Object, error) {
	var found []runtime.Object
	for key, read := range map[string]func(json.RawMessage) ([]runtime.Object, error){
		"namespaces":     listOf[v1.Namespace],
		"nodes":          listOf[v1.Node],
		"bound":          listOf[v1.Pod],
		"services":       listOf[v1.Service],
		"pvs":            listOf[v1.PersistentVolume],
		"pvcs":           listOf[v1.PersistentVolumeClaim],
		"pdbs":           listOf[policyv1.PodDisruptionBudget],
		"storageclasses": listOf[storagev1.StorageClass],
		"csinodes":       listOf[storagev1.CSINode],
		"csidrivers":     listOf[storagev1.CSIDriver],
		"capacities":     listOf[storagev1.CSIStorageCapacity],
	} {
		text, ok := given[key]
		if !ok {
			continue
		}
		list, err := read(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		found = append(found, list...)
		if given[key], err = json.Marshal(list); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func listOf[T any](text json.RawMessage) ([]runtime.Object, error) {
	var list []*T
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	found := make([]runtime.Object, len(list))
	for i, each := range list {
		found[i] = any(each).(runtime.Object)
		setDefaults(found[i])
	}
	return found, nil
}

func setDefaults(object runtime.Object) {
	switch each := object.(type) {
	case *v1.Pod:
		corev1.SetObjectDefaults_Pod(each)
	case *v1.Node:
		corev1.SetObjectDefaults_Node(each)
	case *v1.PersistentVolume:
		corev1.SetObjectDefaults_PersistentVolume(each)
	case *v1.PersistentVolumeClaim:
		corev1.SetObjectDefaults_PersistentVolumeClaim(each)
	case *v1.Service:
		corev1.SetObjectDefaults_Service(each)
	}
}
