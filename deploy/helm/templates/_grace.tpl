{{/*
How long Kubernetes waits for a process between the end of a pod's life and SIGKILL, from the numbers that the process
itself is configured with (docs/operations/scale.md, "Stopping a worker").
*/}}

{{/* preStop, then DRAIN_SECONDS of serving, then SHUTDOWN_GRACE_SECONDS for open requests. */}}
{{- define "darkroom.apiGraceSeconds" -}}
{{- $config := .Values.config -}}
{{- add .Values.api.preStopSeconds $config.DRAIN_SECONDS $config.SHUTDOWN_GRACE_SECONDS .Values.terminationMarginSeconds -}}
{{- end -}}

{{/*
Only the queue `waiting` has submits that are waited for; work of other queues is handed back after
SHUTDOWN_GRACE_SECONDS. Takes `root` and `queues`.
*/}}
{{- define "darkroom.workerGraceSeconds" -}}
{{- $config := .root.Values.config -}}
{{- $work := int64 $config.SHUTDOWN_GRACE_SECONDS -}}
{{- if has "waiting" .queues -}}
{{- $work = max $work (int64 $config.UPSTREAM_GRACE_SECONDS) -}}
{{- end -}}
{{- add $work .root.Values.terminationMarginSeconds -}}
{{- end -}}

{{/*
Failures of the liveness probe, ten seconds apart, before a container is killed: after HANG_SECONDS the process ends
itself and logs where it hung, which a kill would lose.
*/}}
{{- define "darkroom.livenessFailures" -}}
{{- add 3 (div (add 9 (int64 .Values.config.HANG_SECONDS)) 10) -}}
{{- end -}}
