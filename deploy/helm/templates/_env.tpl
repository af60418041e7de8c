{{/* The variables of the containers. Every name is one of src/config/variables.ts; secrets are references. */}}

{{/* Takes `root`, `name` of the variable and `ref`, an entry of `secrets`. Nothing if it has no key. */}}
{{- define "darkroom.secretVariable" -}}
{{- if .ref.key }}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .ref.existingSecret | default .root.Values.secrets.existingSecret }}
      key: {{ .ref.key }}
{{- end }}
{{- end -}}

{{/* Takes a list of name and value. */}}
{{- define "darkroom.plainVariables" -}}
{{- range . }}
- name: {{ first . }}
  value: {{ include "darkroom.text" (last .) | quote }}
{{- end }}
{{- end -}}

{{/* What all roles need of Temporal. */}}
{{- define "darkroom.temporalVariables" -}}
{{- $temporal := .Values.temporal -}}
{{- $variables := list (list "TEMPORAL_ADDRESS" $temporal.address) (list "TEMPORAL_NAMESPACE" $temporal.namespace) -}}
{{- if $temporal.tls.enabled -}}
{{- $variables = append $variables (list "TEMPORAL_TLS" "true") -}}
{{- end -}}
{{- range $name, $key := dict "TEMPORAL_TLS_CA_FILE" $temporal.tls.caKey "TEMPORAL_TLS_CERT_FILE" $temporal.tls.certKey "TEMPORAL_TLS_KEY_FILE" $temporal.tls.keyKey -}}
{{- if $key -}}
{{- $variables = append $variables (list $name (printf "/etc/darkroom/temporal/%s" $key)) -}}
{{- end -}}
{{- end -}}
{{- include "darkroom.plainVariables" $variables -}}
{{- include "darkroom.secretVariable" (dict "root" . "name" "TEMPORAL_API_KEY" "ref" .Values.secrets.temporalApiKey) -}}
{{- end -}}

{{/* EGRESS_ALLOW: an IPv6 address or range is in brackets. */}}
{{- define "darkroom.egressAllow" -}}
{{- $entries := list -}}
{{- range .Values.egress.allow -}}
{{- $host := ternary (printf "[%s]" .host) .host (contains ":" .host) -}}
{{- $entries = append $entries (printf "%s%s:%d" (ternary "http://" "" (default false .http)) $host (int64 .port)) -}}
{{- end -}}
{{- join "," $entries -}}
{{- end -}}

{{- define "darkroom.egressPorts" -}}
{{- $ports := list -}}
{{- range .Values.egress.ports -}}
{{- $ports = append $ports (int64 . | toString) -}}
{{- end -}}
{{- join "," $ports -}}
{{- end -}}

{{/* What apis and workers share. */}}
{{- define "darkroom.serviceVariables" -}}
{{- $values := .Values -}}
{{- $variables := list (list "PUBLIC_URL" $values.publicUrl) (list "STORE_URL" $values.store.url) (list "S3_REGION" $values.store.region) -}}
{{- range $name, $value := dict "S3_ENDPOINT" $values.store.endpoint "S3_PUBLIC_ENDPOINT" $values.store.publicEndpoint "EGRESS_ALLOW" (include "darkroom.egressAllow" .) "EGRESS_DENY" (join "," $values.egress.deny) -}}
{{- if $value -}}
{{- $variables = append $variables (list $name $value) -}}
{{- end -}}
{{- end -}}
{{- $variables = append $variables (list "EGRESS_PORTS" (include "darkroom.egressPorts" .)) -}}
{{- $variables = append $variables (list "SCRATCH_DIR" "/data/scratch") -}}
{{- $variables = append $variables (list "METRICS_HOST" $values.listenAddress) -}}
{{- $variables = append $variables (list "METRICS_PORT" $values.metrics.port) -}}
{{- range $name, $value := $values.config -}}
{{- $variables = append $variables (list $name $value) -}}
{{- end -}}
{{- include "darkroom.temporalVariables" . -}}
{{- include "darkroom.plainVariables" $variables -}}
{{- $secrets := $values.secrets -}}
{{- range list (list "DATABASE_URL" $secrets.databaseUrl) (list "URL_SIGNING_KEY" $secrets.urlSigningKey) (list "URL_SIGNING_KEY_FALLBACKS" $secrets.urlSigningKeyFallbacks) (list "ENCRYPTION_KEY" $secrets.encryptionKey) (list "ENCRYPTION_KEY_FALLBACKS" $secrets.encryptionKeyFallbacks) (list "S3_ACCESS_KEY_ID" $secrets.s3AccessKeyId) (list "S3_SECRET_ACCESS_KEY" $secrets.s3SecretAccessKey) (list "OTEL_EXPORTER_OTLP_HEADERS" $secrets.otlpHeaders) -}}
{{- include "darkroom.secretVariable" (dict "root" $ "name" (first .) "ref" (last .)) -}}
{{- end -}}
{{- range $values.upstreams -}}
{{- $prefix := printf "UPSTREAM_%s" (upper .name) -}}
{{- if .key -}}
{{- include "darkroom.secretVariable" (dict "root" $ "name" (printf "%s_KEY" $prefix) "ref" .) -}}
{{- end -}}
{{- if .url -}}
{{- include "darkroom.plainVariables" (list (list (printf "%s_URL" $prefix) .url)) -}}
{{- end -}}
{{- end -}}
{{- with $values.extraEnv }}
{{ toYaml . }}
{{- end -}}
{{- end -}}

{{- define "darkroom.apiVariables" -}}
{{- $api := .Values.api -}}
{{- $variables := list (list "HOST" .Values.listenAddress) (list "PORT" $api.port) -}}
{{- with $api.trustedProxies -}}
{{- $variables = append $variables (list "TRUSTED_PROXIES" (join "," .)) -}}
{{- end -}}
{{- if $api.tls.existingSecret -}}
{{- $variables = append $variables (list "TLS_CERT_FILE" "/etc/darkroom/tls/tls.crt") -}}
{{- $variables = append $variables (list "TLS_KEY_FILE" "/etc/darkroom/tls/tls.key") -}}
{{- end -}}
{{- if .Values.secrets.adminToken.key -}}
{{- $variables = append $variables (list "ADMIN_HOST" .Values.listenAddress) -}}
{{- $variables = append $variables (list "ADMIN_PORT" $api.admin.port) -}}
{{- end -}}
{{- if $api.models.existingConfigMap -}}
{{- $variables = append $variables (list "MODELS_DIR" "/etc/darkroom/models") -}}
{{- end -}}
{{- include "darkroom.plainVariables" $variables -}}
{{- include "darkroom.secretVariable" (dict "root" . "name" "ADMIN_TOKEN" "ref" .Values.secrets.adminToken) -}}
{{- /* For `admin models verify`, which operators run in an api's pod. */ -}}
{{- include "darkroom.secretVariable" (dict "root" . "name" "DATABASE_DIRECT_URL" "ref" .Values.secrets.directDatabaseUrl) -}}
{{- include "darkroom.serviceVariables" . -}}
{{- end -}}

{{/* Migrations take locks of their session, which a pooler in transaction mode cannot hold. */}}
{{- define "darkroom.migrateVariables" -}}
{{- $secrets := .Values.secrets -}}
{{- $variables := list -}}
{{- range $name := list "LOG_LEVEL" "LOG_FORMAT" -}}
{{- if hasKey $.Values.config $name -}}
{{- $variables = append $variables (list $name (get $.Values.config $name)) -}}
{{- end -}}
{{- end -}}
{{- include "darkroom.secretVariable" (dict "root" . "name" (ternary "DATABASE_DIRECT_URL" "DATABASE_URL" (ne $secrets.directDatabaseUrl.key "")) "ref" (ternary $secrets.directDatabaseUrl $secrets.databaseUrl (ne $secrets.directDatabaseUrl.key ""))) -}}
{{- include "darkroom.plainVariables" $variables -}}
{{- include "darkroom.temporalVariables" . -}}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end -}}
{{- end -}}
