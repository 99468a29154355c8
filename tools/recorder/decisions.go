package main

import (
	"context"
	"encoding/json"
	"errors"
	"sort"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type preemption struct {
	Nominated string   `json:"nominated"`
	Victims   []string `json:"victims"`
	Message   string   `json:"message"`
}

// A step: the pod, and what became of it.
type step struct {
	Pod           *v1.Pod                     `json:"pod"`
	Node          string                      `json:"node,omitempty"`
	Scores        map[string]map[string]int64 `json:"scores,omitempty"`
	Unschedulable string                      `json:"unschedulable,omitempty"`
	Reason        string                      `json:"reason,omitempty"`
	Preemption    *preemption                 `json:"preemption,omitempty"`
	StartTime     *metav1.Time                `json:"start_time,omitempty"`
}

// Pods decided one after another on one cluster.
func recordDecisions(ctx context.Context, given line) (line, error) {
	objects, err := objectsOf(given)
	if err != nil {
		return nil, err
	}
	loaded, err := load(given["config"])
	if err != nil {
		return nil, err
	}
	made, err := newCluster(ctx, loaded, objects)
	if err != nil {
		return nil, err
	}
	play := &played{cluster: made}
	for _, object := range objects {
		switch object.(type) {
		case *v1.Node:
			play.nodes++
		case *v1.Pod:
			play.pods++
		}
	}
	if err := made.start(ctx, play.nodes, play.pods); err != nil {
		return nil, err
	}
	var steps []*step
	if err := json.Unmarshal(given["steps"], &steps); err != nil {
		return nil, err
	}
	for _, each := range steps {
		if err := play.decide(ctx, each); err != nil {
			return nil, err
		}
	}
	return put(given, "steps", steps)
}

type played struct {
	*cluster
	nodes, pods int
	started     int64
}

func (play *played) decide(ctx context.Context, step *step) error {
	setDefaults(step.Pod)
	if err := play.create(ctx, step.Pod); err != nil {
		return err
	}
	pod := step.Pod.DeepCopy()
	if err := play.attempt(ctx, step, pod); err != nil {
		return err
	}
	if step.Preemption != nil {
		play.pods -= len(step.Preemption.Victims)
		if err := play.awaitCache(play.nodes, play.pods); err != nil {
			return err
		}
		pod.Status.NominatedNodeName = step.Preemption.Nominated
		if err := play.attempt(ctx, step, pod); err != nil {
			return err
		}
	}
	return play.settle(ctx, step, pod)
}

// One attempt: a node with scores, or a message, or a preemption.
func (play *played) attempt(ctx context.Context, step *step, pod *v1.Pod) error {
	profile := play.scheduler.Profiles[pod.Spec.SchedulerName]
	snapshot := profile.SnapshotSharedLister().(*cache.Snapshot)
	if err := play.scheduler.Cache.UpdateSnapshot(klog.FromContext(ctx), snapshot); err != nil {
		return err
	}
	state := framework.NewCycleState()
	podInfo, err := framework.NewPodInfo(pod)
	if err != nil {
		return err
	}
	result, err := play.scheduler.SchedulePod(ctx, profile, state, &framework.QueuedPodInfo{PodInfo: podInfo})
	if err == nil {
		step.Node = result.SuggestedHost
		return play.score(ctx, step, pod, profile, state, result.FeasibleNodes)
	}
	var unfit *framework.FitError
	if !errors.As(err, &unfit) {
		step.Unschedulable, step.Reason = err.Error(), v1.PodReasonSchedulerError
		return nil
	}
	if profile.HasPostFilterPlugins() {
		found, status := profile.RunPostFilterPlugins(ctx, state, pod, unfit.Diagnosis.NodeToStatus)
		unfit.Diagnosis.PostFilterMsg = status.Message()
		if status.IsSuccess() && found != nil && found.NominatedNodeName != "" {
			step.Preemption = &preemption{found.NominatedNodeName, play.takeEvicted(), unfit.Error()}
			sort.Strings(step.Preemption.Victims)
			return nil
		}
	}
	step.Unschedulable, step.Reason = unfit.Error(), v1.PodReasonUnschedulable
	return nil
}

// The scores of all feasible nodes; none where only one is feasible.
func (play *played) score(
	ctx context.Context, step *step, pod *v1.Pod, profile framework.Framework, state fwk.CycleState, count int,
) error {
	step.Scores = nil
	if count < 2 || !profile.HasScorePlugins() {
		return nil
	}
	all, err := profile.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return err
	}
	var feasible []fwk.NodeInfo
	for _, node := range all {
		if profile.RunFilterPluginsWithNominatedPods(ctx, state, pod, node).IsSuccess() {
			feasible = append(feasible, node)
		}
	}
	if status := profile.RunPreScorePlugins(ctx, state, pod, feasible); !status.IsSuccess() {
		return status.AsError()
	}
	scored, status := profile.RunScorePlugins(ctx, state, pod, feasible)
	if !status.IsSuccess() {
		return status.AsError()
	}
	step.Scores = map[string]map[string]int64{}
	for _, node := range scored {
		scores := map[string]int64{"total": node.TotalScore}
		for _, own := range node.Scores {
			scores[own.Name] = own.Score
		}
		step.Scores[node.Name] = scores
	}
	return nil
}

// The pod is on its node, or gone.
func (play *played) settle(ctx context.Context, step *step, pod *v1.Pod) error {
	pods := play.client.CoreV1().Pods(pod.Namespace)
	if step.Node == "" {
		err := pods.Delete(ctx, pod.Name, metav1.DeleteOptions{})
		play.takeEvicted()
		return err
	}
	placed := step.Pod.DeepCopy()
	placed.Spec.NodeName = step.Node
	if placed.Spec.Priority != nil {
		// Every pod starts a second after the one before it.
		play.started++
		step.StartTime = &metav1.Time{Time: time.Unix(1_700_000_000+play.started, 0).UTC()}
		placed.Status.StartTime = step.StartTime
	}
	if _, err := pods.Update(ctx, placed, metav1.UpdateOptions{}); err != nil {
		return err
	}
	play.pods++
	return play.awaitCache(play.nodes, play.pods)
}
