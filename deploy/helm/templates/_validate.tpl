{{/*
What values.schema.json cannot say, and what has no default: all problems at once, as the service itself reports those of
its configuration.
*/}}

{{- define "darkroom.problems" -}}
{{- $values := .Values -}}
{{- $problems := list -}}
{{- range list (list "image.repository" $values.image.repository "where your image is, registry.example.com/darkroom; only the chart of a release knows its own") (list "publicUrl" $values.publicUrl "the https URL at which clients reach the API") (list "temporal.address" $values.temporal.address "Temporal's frontend, host:port") (list "store.url" $values.store.url "s3://bucket/prefix") -}}
{{- if not (index . 1) -}}
{{- $problems = append $problems (printf "%s is required: %s" (index . 0) (index . 2)) -}}
{{- end -}}
{{- end -}}
{{- $homeless := list -}}
{{- range $name, $ref := $values.secrets -}}
{{- if kindIs "map" $ref -}}
{{- if and (has $name (list "databaseUrl" "urlSigningKey" "encryptionKey")) (not $ref.key) -}}
{{- $problems = append $problems (printf "secrets.%s.key is required: the key of the Secret that holds it" $name) -}}
{{- else if and $ref.key (not $ref.existingSecret) (not $values.secrets.existingSecret) -}}
{{- $homeless = append $homeless $name -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $upstreams := list -}}
{{- range $values.upstreams -}}
{{- if has .name $upstreams -}}
{{- $problems = append $problems (printf "upstreams: two entries have the name %s" .name) -}}
{{- end -}}
{{- $upstreams = append $upstreams .name -}}
{{- if not (or .key .url) -}}
{{- $problems = append $problems (printf "upstreams: %s has neither key nor url" .name) -}}
{{- end -}}
{{- if and .key (not .existingSecret) (not $values.secrets.existingSecret) -}}
{{- $homeless = append $homeless (printf "upstreams (%s)" .name) -}}
{{- end -}}
{{- end -}}
{{- with $homeless -}}
{{- $problems = append $problems (printf "secrets.existingSecret is required: the name of the Secret with the keys of %s, unless each names its own" (join ", " .)) -}}
{{- end -}}
{{- if ne (empty $values.secrets.s3AccessKeyId.key) (empty $values.secrets.s3SecretAccessKey.key) -}}
{{- $problems = append $problems "secrets.s3AccessKeyId.key and secrets.s3SecretAccessKey.key: set both or neither" -}}
{{- end -}}
{{- if not (or $values.api.trustedProxies $values.api.tls.existingSecret) -}}
{{- $problems = append $problems "api.trustedProxies is required, or api.tls.existingSecret: the API is served over HTTPS only, by a proxy in front whose addresses are listed or by itself" -}}
{{- end -}}
{{- $tls := $values.temporal.tls -}}
{{- if and (or $tls.caKey $tls.certKey $tls.keyKey) (not $tls.existingSecret) -}}
{{- $problems = append $problems "temporal.tls.existingSecret is required: the Secret with the keys that temporal.tls names" -}}
{{- end -}}
{{- if ne (empty $tls.certKey) (empty $tls.keyKey) -}}
{{- $problems = append $problems "temporal.tls.certKey and temporal.tls.keyKey: set both or neither" -}}
{{- end -}}
{{- if and $values.ingress.enabled (not $values.ingress.tls.secretName) (not $values.ingress.tls.external) -}}
{{- $problems = append $problems "ingress.tls.secretName is required, or ingress.tls.external: only HTTPS is served" -}}
{{- end -}}
{{- $ports := list (int64 $values.api.port) (int64 $values.metrics.port) -}}
{{- if $values.secrets.adminToken.key -}}
{{- $ports = append $ports (int64 $values.api.admin.port) -}}
{{- end -}}
{{- if ne (len $ports) (len (uniq $ports)) -}}
{{- $problems = append $problems "api.port, api.admin.port and metrics.port: each needs its own port" -}}
{{- end -}}
{{- $labelled := dict "commonLabels" $values.commonLabels "api.podLabels" $values.api.podLabels -}}
{{- range (include "darkroom.workers" . | fromJson).workers -}}
{{- $_ := set $labelled (printf "workers (%s): podLabels" .name) .podLabels -}}
{{- end -}}
{{- range $where, $labels := $labelled -}}
{{- range $label, $value := $labels -}}
{{- if regexMatch "^(app\\.kubernetes\\.io|helm\\.sh|darkroom)/" $label -}}
{{- $problems = append $problems (printf "%s: %s is set by the chart" $where $label) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $settings := .Files.Lines "files/settings.txt" -}}
{{- range $values.extraEnv -}}
{{- if or (has .name $settings) (hasPrefix "UPSTREAM_" .name) -}}
{{- $problems = append $problems (printf "extraEnv: %s is a setting of Darkroom: use the value for it, config, secrets or upstreams" .name) -}}
{{- end -}}
{{- end -}}
{{- $problems = concat $problems (include "darkroom.poolerProblems" . | fromJsonArray) (include "darkroom.secretProblems" . | fromJsonArray) (include "darkroom.workerProblems" . | fromJsonArray) (include "darkroom.releaseProblems" . | fromJsonArray) (include "darkroom.egressProblems" . | fromJsonArray) -}}
{{- toJson $problems -}}
{{- end -}}

{{/* Each of the two settings of a pooler is wrong without the other. */}}
{{- define "darkroom.poolerProblems" -}}
{{- $problems := list -}}
{{- $isPooled := eq (default "" .Values.config.DATABASE_POOLER) "transaction" -}}
{{- $direct := .Values.secrets.directDatabaseUrl.key -}}
{{- if and $isPooled .Values.migrate.enabled (not $direct) -}}
{{- $problems = append $problems "secrets.directDatabaseUrl.key is required with config.DATABASE_POOLER: migrations need a session of PostgreSQL itself" -}}
{{- end -}}
{{- if and $direct (not $isPooled) -}}
{{- $problems = append $problems "config.DATABASE_POOLER has to be transaction with secrets.directDatabaseUrl.key: apis and workers would set what a pooler does not keep" -}}
{{- end -}}
{{- toJson $problems -}}
{{- end -}}

{{- define "darkroom.workerProblems" -}}
{{- $problems := list -}}
{{- $served := list -}}
{{- $working := list -}}
{{- $names := list -}}
{{- range (include "darkroom.workers" . | fromJson).workers -}}
{{- $served = concat $served .queues -}}
{{- if or .autoscaling.enabled (gt (int64 .replicas) 0) -}}
{{- $working = concat $working .queues -}}
{{- end -}}
{{- if has .name $names -}}
{{- $problems = append $problems (printf "workers: two entries have the name %s" .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- if and .autoscaling.enabled (gt (int64 .autoscaling.minReplicas) (int64 .autoscaling.maxReplicas)) -}}
{{- $problems = append $problems (printf "workers: %s: autoscaling.minReplicas is greater than autoscaling.maxReplicas" .name) -}}
{{- end -}}
{{- end -}}
{{- range list "media" "generation" "waiting" "archiving" "callbacks" "maintenance" -}}
{{- if not (has . $served) -}}
{{- $problems = append $problems (printf "workers: no entry serves the queue %s, and its work would wait for ever" .) -}}
{{- else if not (has . $working) -}}
{{- $problems = append $problems (printf "workers: every entry that serves the queue %s has 0 replicas, and its work would wait for ever; to stop workers for a while, use kubectl scale" .) -}}
{{- end -}}
{{- end -}}
{{- $api := .Values.api.autoscaling -}}
{{- if and $api.enabled (gt (int64 $api.minReplicas) (int64 $api.maxReplicas)) -}}
{{- $problems = append $problems "api.autoscaling.minReplicas is greater than api.autoscaling.maxReplicas" -}}
{{- end -}}
{{- toJson $problems -}}
{{- end -}}

{{- define "darkroom.releaseProblems" -}}
{{- $problems := list -}}
{{- $versioning := .Values.workerVersioning -}}
{{- if and $versioning.previous (not $versioning.enabled) -}}
{{- $problems = append $problems "workerVersioning.previous needs workerVersioning.enabled: without versions, workers of two releases would take each other's tasks" -}}
{{- end -}}
{{- range $versioning.previous -}}
{{- if not (or .tag .digest) -}}
{{- $problems = append $problems "workerVersioning.previous: an entry has neither tag nor digest" -}}
{{- end -}}
{{- end -}}
{{- if not $problems -}}
{{- $seen := list -}}
{{- range (include "darkroom.releases" . | fromJson).releases -}}
{{- if has .buildId $seen -}}
{{- $problems = append $problems (printf "workerVersioning: two releases have the build id %s" .buildId) -}}
{{- end -}}
{{- $seen = append $seen .buildId -}}
{{- end -}}
{{- end -}}
{{- toJson $problems -}}
{{- end -}}

{{- define "darkroom.egressProblems" -}}
{{- $problems := list -}}
{{- if .Values.networkPolicy.enabled -}}
{{- range .Values.egress.allow -}}
{{- if and (not (include "darkroom.cidrOf" .host)) (not .peers) -}}
{{- $problems = append $problems (printf "egress.allow: %s is a name, which a network policy cannot contain: set its peers, or networkPolicy.enabled to false" .host) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $problems -}}
{{- end -}}

{{- define "darkroom.validate" -}}
{{- with include "darkroom.problems" . | fromJsonArray -}}
{{- fail (printf "\nthe values have %d problem(s):\n  - %s" (len .) (join "\n  - " .)) -}}
{{- end -}}
{{- end -}}
