{{/*
How long Kubernetes waits for a process between the end of a pod's life and SIGKILL, from the numbers that the process
itself is configured with (docs/operations/scale.md, "Stopping a worker").
*/}}

{{/* A setting in `config`; where that is removed with null, the program's default. Takes `root` and `name`. */}}
{{- define "darkroom.seconds" -}}
{{- $defaults := .root.Files.Get "files/defaults.json" | fromJson -}}
{{- $own := get .root.Values.config .name -}}
{{- int64 (ternary $own (get $defaults .name) (hasKey .root.Values.config .name)) -}}
{{- end -}}

{{/*
preStop, then DRAIN_SECONDS of serving, then SHUTDOWN_GRACE_SECONDS for open requests or UPSTREAM_GRACE_SECONDS for
answers in the background.
*/}}
{{- define "darkroom.apiGraceSeconds" -}}
{{- $drain := include "darkroom.seconds" (dict "root" . "name" "DRAIN_SECONDS") -}}
{{- $shutdown := include "darkroom.seconds" (dict "root" . "name" "SHUTDOWN_GRACE_SECONDS") | int64 -}}
{{- $upstream := include "darkroom.seconds" (dict "root" . "name" "UPSTREAM_GRACE_SECONDS") | int64 -}}
{{- add .Values.api.preStopSeconds $drain (max $shutdown $upstream) .Values.terminationMarginSeconds -}}
{{- end -}}

{{/*
Of workers, only the queue `waiting` has submits that are waited for; work of other queues is handed back after
SHUTDOWN_GRACE_SECONDS. Takes `root` and `queues`.
*/}}
{{- define "darkroom.workerGraceSeconds" -}}
{{- $work := include "darkroom.seconds" (dict "root" .root "name" "SHUTDOWN_GRACE_SECONDS") | int64 -}}
{{- if has "waiting" .queues -}}
{{- $work = max $work (include "darkroom.seconds" (dict "root" .root "name" "UPSTREAM_GRACE_SECONDS") | int64) -}}
{{- end -}}
{{- add $work .root.Values.terminationMarginSeconds -}}
{{- end -}}

{{/*
Failures of the liveness probe, ten seconds apart, before a container is killed: after HANG_SECONDS the process ends
itself and logs where it hung, which a kill would lose. Nothing if it may hang without limit.
*/}}
{{- define "darkroom.livenessFailures" -}}
{{- with include "darkroom.seconds" (dict "root" . "name" "HANG_SECONDS") | int64 -}}
{{- add 3 (div (add 9 .) 10) -}}
{{- end -}}
{{- end -}}
