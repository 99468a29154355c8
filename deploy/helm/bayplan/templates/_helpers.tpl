{{/* Of all objects. */}}
{{- define "bayplan.name" -}}
{{- .Values.name | default .Release.Name -}}
{{- end -}}

{{- define "bayplan.labels" -}}
app.kubernetes.io/name: bayplan
app.kubernetes.io/instance: {{ include "bayplan.name" . }}
{{- end -}}

{{- define "bayplan.subjects" -}}
- kind: ServiceAccount
  name: {{ include "bayplan.name" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}

{{/* The configuration as text: the one that was given, or one with a single profile and a Lease that fits it. */}}
{{- define "bayplan.configuration" -}}
{{- if .Values.configuration -}}
{{- if or .Values.replaceDefault .Values.schedulerName -}}
{{- fail "configuration says which profiles and which Lease: leave out schedulerName and replaceDefault" -}}
{{- end -}}
{{- .Values.configuration -}}
{{- else -}}
{{- $name := include "bayplan.name" . -}}
{{- if and .Values.replaceDefault .Values.schedulerName -}}
{{- fail "replaceDefault takes the name default-scheduler: leave out schedulerName" -}}
{{- end -}}
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: true
  resourceNamespace: {{ .Values.replaceDefault | ternary "kube-system" .Release.Namespace }}
  resourceName: {{ .Values.replaceDefault | ternary "kube-scheduler" $name }}
profiles:
- schedulerName: {{ .Values.replaceDefault | ternary "default-scheduler" (.Values.schedulerName | default $name) }}
{{- with .Values.plugins }}
  plugins:
    multiPoint:
      enabled:
      {{- range . }}
      - name: {{ required "each of plugins has a name, by which the profile enables it" .name }}
      {{- end }}
{{- end }}
{{ end -}}
{{- end -}}

{{/* leaderElection of the configuration, with kube-scheduler's defaults, as JSON. */}}
{{- define "bayplan.election" -}}
{{- $configuration := include "bayplan.configuration" . | fromYaml -}}
{{- with $configuration.Error -}}
{{- fail (printf "configuration is not YAML: %s" .) -}}
{{- end -}}
{{- $given := $configuration.leaderElection | default dict -}}
{{- $defaults := dict "leaderElect" true "resourceNamespace" "kube-system" "resourceName" "kube-scheduler" -}}
{{- $election := mergeOverwrite $defaults $given -}}
{{- if and (not $election.leaderElect) (gt (int .Values.replicas) 1) -}}
{{- fail (printf "without leader election all %d replicas would schedule at the same time: set leaderElection.leaderElect of the configuration to true, or replicas to 1" (int .Values.replicas)) -}}
{{- end -}}
{{- toJson $election -}}
{{- end -}}
