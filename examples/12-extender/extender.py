"""Only nodes labelled custom=true: an extender in ten lines. `python extender.py` serves it on port 8888."""

from bayplan.extender import ExtenderApp, ExtenderArgs, ExtenderFilterResult, NodeList

app = ExtenderApp()


@app.filter
def only_custom(args: ExtenderArgs) -> ExtenderFilterResult:
    fits = tuple(node for node in args.Nodes.items if node.labels.get("custom") == "true")
    failed = {node.name: "no label custom=true" for node in args.Nodes.items if node not in fits}
    return ExtenderFilterResult(Nodes=NodeList(items=fits), FailedNodes=failed)


if __name__ == "__main__":
    app.run(port=8888)
