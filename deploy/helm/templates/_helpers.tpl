{{/* Names and labels. */}}

{{- define "darkroom.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* 40 characters: the longest suffix and the hash of a pod's name still fit a label. */}}
{{- define "darkroom.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "darkroom.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "darkroom.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "darkroom.selectorLabels" -}}
app.kubernetes.io/name: {{ include "darkroom.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Of every object. */}}
{{- define "darkroom.labels" -}}
{{ include "darkroom.selectorLabels" . }}
app.kubernetes.io/version: {{ default .Chart.AppVersion .Values.image.tag | trunc 63 | regexFind "^.*[A-Za-z0-9]" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels that select the pods of a component. Takes `root`, `component` and, for one entry of `workers`, `worker`. */}}
{{- define "darkroom.componentLabels" -}}
{{ include "darkroom.selectorLabels" .root }}
app.kubernetes.io/component: {{ .component }}
{{- with .worker }}
darkroom/worker: {{ . }}
{{- end }}
{{- end -}}

{{- define "darkroom.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "darkroom.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Takes `root` and `own`, an image of which `tag` or `digest` may be set. A tag of its own drops the common digest. */}}
{{- define "darkroom.image" -}}
{{- $image := .root.Values.image -}}
{{- $digest := .own.digest | default (ternary "" $image.digest (ne .own.tag "")) -}}
{{- if $digest -}}
{{- printf "%s@%s" $image.repository $digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (coalesce .own.tag $image.tag .root.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* A scalar as the text of a variable. Numbers come from YAML as floats, whose text would be 1e+06. */}}
{{- define "darkroom.text" -}}
{{- if and (kindIs "float64" .) (eq . (float64 (int64 .))) -}}
{{- int64 . -}}
{{- else -}}
{{- . -}}
{{- end -}}
{{- end -}}

{{/* The entries of `workers`, each over `workerDefaults`: `{"workers": […]}`. */}}
{{- define "darkroom.workers" -}}
{{- $workers := list -}}
{{- range .Values.workers -}}
{{- $workers = append $workers (mustMergeOverwrite (deepCopy $.Values.workerDefaults) (deepCopy .)) -}}
{{- end -}}
{{- dict "workers" $workers | toJson -}}
{{- end -}}

{{/* The host of `publicUrl`, without its port. */}}
{{- define "darkroom.publicHost" -}}
{{- regexReplaceAll ":\\d+$" (urlParse .Values.publicUrl).host "" -}}
{{- end -}}

{{/* The port of a URL or of host:port. */}}
{{- define "darkroom.portOf" -}}
{{- $port := regexFind ":\\d+/?$" . | trimPrefix ":" | trimSuffix "/" -}}
{{- default (ternary "80" "443" (hasPrefix "http://" .)) $port -}}
{{- end -}}

{{/* The hook's own, because the release's does not exist before its first install. */}}
{{- define "darkroom.migrateAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- include "darkroom.fullname" . }}-migrate
{{- else -}}
{{- include "darkroom.serviceAccountName" . -}}
{{- end -}}
{{- end -}}
