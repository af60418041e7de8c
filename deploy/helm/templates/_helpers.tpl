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

{{/*
Labels that select the pods of a component. Takes `root`, `component` and, for one entry of `workers`, `worker`, and
`release` for those of one release.
*/}}
{{- define "darkroom.componentLabels" -}}
{{ include "darkroom.selectorLabels" .root }}
app.kubernetes.io/component: {{ .component }}
{{- with .worker }}
darkroom/worker: {{ . }}
{{- end }}
{{- with .release }}
darkroom/release: {{ . | quote }}
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
{{- $port := regexReplaceAll "^[a-z]+://" . "" | regexFind "^[^/?#]*" | regexFind ":\\d+$" | trimPrefix ":" -}}
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

{{/* The build id of an image with `tag` or `digest`, unless `buildId` names one: what WORKER_BUILD_ID accepts. */}}
{{- define "darkroom.buildId" -}}
{{- if .buildId -}}
{{- .buildId -}}
{{- else if .digest -}}
{{- printf "sha256-%s" (trimPrefix "sha256:" .digest | trunc 16) -}}
{{- else if or (gt (len .tag) 63) (hasPrefix "_" .tag) -}}
{{- printf "tag-%s-%s" (trunc 32 .tag) (sha256sum .tag | trunc 16) -}}
{{- else -}}
{{- .tag -}}
{{- end -}}
{{- end -}}

{{/*
The releases whose workers run, the current one first: `{"releases": […]}`, each with `tag` and `digest` of its image,
`buildId`, `suffix` of the names of its Deployments and, if it is an earlier one, the number of its workers. Without
versions there is one, without a suffix. With them a release keeps its Deployments when the next becomes current.
*/}}
{{- define "darkroom.releases" -}}
{{- $versioning := .Values.workerVersioning -}}
{{- $image := .Values.image -}}
{{- if not $versioning.enabled -}}
{{- dict "releases" (list (dict "tag" "" "digest" "" "buildId" "" "suffix" "" "isCurrent" true)) | toJson -}}
{{- else -}}
{{- $tag := coalesce $image.tag .Chart.AppVersion -}}
{{- $current := include "darkroom.buildId" (dict "buildId" $versioning.buildId "digest" $image.digest "tag" $tag) -}}
{{- $releases := list (dict "tag" "" "digest" "" "buildId" $current "isCurrent" true) -}}
{{- range $versioning.previous -}}
{{- $own := merge (dict) . (dict "tag" "" "digest" "" "buildId" "") -}}
{{- $releases = append $releases (merge (dict "buildId" (include "darkroom.buildId" $own) "isCurrent" false) $own) -}}
{{- end -}}
{{- range $releases -}}
{{- $_ := set . "suffix" (printf "-%s" (sha256sum .buildId | trunc 8)) -}}
{{- end -}}
{{- dict "releases" $releases | toJson -}}
{{- end -}}
{{- end -}}

{{/*
The replicas of a Deployment that an autoscaler owns, as they are now: where a release before had set them, leaving them
out would mean one until the autoscaler looks. Without a cluster, and before the first install, there is nothing to keep.
*/}}
{{- define "darkroom.liveReplicas" -}}
{{- with lookup "apps/v1" "Deployment" .root.Release.Namespace .name -}}
replicas: {{ int .spec.replicas }}
{{- end -}}
{{- end -}}

{{/* The Deployment of an entry of `workers` in one release. Takes `root`, `worker` and `release`: 63 characters at most. */}}
{{- define "darkroom.workerName" -}}
{{- $name := include "darkroom.fullname" .root -}}
{{- if .release.suffix -}}
{{- $name = trunc 31 $name | trimSuffix "-" -}}
{{- end -}}
{{- printf "%s-worker-%s%s" $name .worker .release.suffix -}}
{{- end -}}
