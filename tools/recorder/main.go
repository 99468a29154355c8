// The recorder: what a release of kube-scheduler makes of configurations and clusters. It reads lines of JSON, each
// with a kind, and writes them with the result added, in the form that `bayplan conformance` verifies.
//
// It is built against the release to record: tools/record.py writes go.mod. So it uses no more of Kubernetes than it
// must: the scheduler is made by scheduler.New over a client in memory, and asked one pod at a time.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
)

// Decided synchronously, and every node every time: the results are the same, and each step is complete when it ends.
const gates = "OpportunisticBatching=false,SchedulerAsyncPreemption=false"

type line = map[string]json.RawMessage

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: recorder VERSION < LINES > RECORDED"))
	}
	klog.SetOutputBySeverity("INFO", discard{})
	klog.LogToStderr(false)
	if err := utilfeature.DefaultMutableFeatureGate.Set(gates); err != nil {
		fail(err)
	}
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	for {
		text, err := input.ReadBytes('\n')
		if len(text) > 1 {
			recorded, problem := record(text)
			if problem != nil {
				fail(problem)
			}
			recorded["version"], _ = json.Marshal(os.Args[1])
			if problem := output.Encode(recorded); problem != nil {
				fail(problem)
			}
		}
		if err != nil {
			return
		}
	}
}

func record(text []byte) (line, error) {
	given := line{}
	if err := json.Unmarshal(text, &given); err != nil {
		return nil, err
	}
	var kind string
	if err := json.Unmarshal(given["kind"], &kind); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch kind {
	case "config":
		return recordConfiguration(ctx, given)
	case "decision":
		return recordDecisions(ctx, given)
	}
	return nil, fmt.Errorf("lines of the kind %q cannot be recorded", kind)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

type discard struct{}

func (discard) Write(text []byte) (int, error) { return len(text), nil }
