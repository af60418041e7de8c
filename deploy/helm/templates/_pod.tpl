{{/* What the pods of all roles have in common. */}}

{{/*
The beginning of a pod's spec. No token: no process of ours calls the Kubernetes API. No service links: Kubernetes would
set variables such as TEMPORAL_PORT for a Service called `temporal`, and that is one of our settings.
*/}}
{{- define "darkroom.podBasics" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Where pods run. Takes `root`, `own` (`api` or an entry of `workers`) and `selector`, the labels of its pods. */}}
{{- define "darkroom.placement" -}}
{{- with .own.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .own.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .own.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .own.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
{{- if .own.topologySpreadConstraints }}
  {{- toYaml .own.topologySpreadConstraints | nindent 2 }}
{{- else }}
{{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- $.selector | nindent 8 }}
    # Counts the pods of one release only, so that those of the last one do not push the new ones together.
    matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}
{{- end -}}

{{/* The root file system is read-only: these are the only places to write to. */}}
{{- define "darkroom.volumeMounts" -}}
- name: tmp
  mountPath: /tmp
- name: scratch
  mountPath: /data/scratch
{{- include "darkroom.temporalTlsMount" . }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "darkroom.volumes" -}}
- name: tmp
  emptyDir:
    sizeLimit: {{ .Values.scratch.tmpSizeLimit }}
- name: scratch
  emptyDir:
    sizeLimit: {{ .Values.scratch.sizeLimit }}
{{- include "darkroom.temporalTlsVolume" . }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "darkroom.temporalTlsMount" -}}
{{- if .Values.temporal.tls.existingSecret }}
- name: temporal-tls
  mountPath: /etc/darkroom/temporal
  readOnly: true
{{- end }}
{{- end -}}

{{- define "darkroom.temporalTlsVolume" -}}
{{- if .Values.temporal.tls.existingSecret }}
- name: temporal-tls
  secret:
    secretName: {{ .Values.temporal.tls.existingSecret }}
    defaultMode: 0440
{{- end }}
{{- end -}}

{{/*
Takes `root`, `port` and `scheme`. Start-up may wait for PostgreSQL. Readiness looks at the services behind a process,
liveness at the process alone: a restart does not bring a database back.
*/}}
{{- define "darkroom.probes" -}}
startupProbe:
  httpGet: { path: /healthz, port: {{ .port }}, scheme: {{ .scheme }} }
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 60
readinessProbe:
  httpGet: { path: /readyz, port: {{ .port }}, scheme: {{ .scheme }} }
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- with include "darkroom.livenessFailures" .root }}
livenessProbe:
  httpGet: { path: /healthz, port: {{ $.port }}, scheme: {{ $.scheme }} }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: {{ . }}
{{- end }}
{{- end -}}
