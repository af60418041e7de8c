{{/*
The ways out, as NetworkPolicy rules: the same as src/egress decides for each connection, as far as addresses go. Names
and plain HTTP are decided there alone.
*/}}

{{/* The address or CIDR as a CIDR; nothing for a name. */}}
{{- define "darkroom.cidrOf" -}}
{{- if contains ":" . -}}
{{- ternary . (printf "%s/128" .) (contains "/" .) -}}
{{- else if regexMatch "^[0-9]+(\\.[0-9]+){3}(/[0-9]+)?$" . -}}
{{- ternary . (printf "%s/32" .) (contains "/" .) -}}
{{- end -}}
{{- end -}}

{{/* IPv4 addresses that are not public: those of src/egress/address.ts. */}}
{{- define "darkroom.specialIpv4" -}}
["0.0.0.0/8","10.0.0.0/8","100.64.0.0/10","127.0.0.0/8","168.63.129.16/32","169.254.0.0/16","172.16.0.0/12","192.0.0.0/24","192.0.2.0/24","192.31.196.0/24","192.52.193.0/24","192.88.99.0/24","192.168.0.0/16","192.175.48.0/24","198.18.0.0/15","198.51.100.0/24","203.0.113.0/24","224.0.0.0/4","240.0.0.0/4"]
{{- end -}}

{{/* Those of 2000::/3, the only IPv6 space that is assigned. */}}
{{- define "darkroom.specialIpv6" -}}
["2001::/23","2001:db8::/32","2002::/16","2620:4f:8000::/48","3fff::/20"]
{{- end -}}

{{/* `{"ipv4": […], "ipv6": […]}`: the CIDRs of `egress.deny` that lie in the public ranges. */}}
{{- define "darkroom.denied" -}}
{{- $ipv4 := list -}}
{{- $ipv6 := list -}}
{{- range .Values.egress.deny -}}
{{- $cidr := include "darkroom.cidrOf" (. | trimPrefix "[" | trimSuffix "]") -}}
{{- if regexMatch "^[23][0-9a-fA-F]{3}:" $cidr -}}
{{- $ipv6 = append $ipv6 $cidr -}}
{{- else if and $cidr (not (contains ":" $cidr)) -}}
{{- $ipv4 = append $ipv4 $cidr -}}
{{- end -}}
{{- end -}}
{{- dict "ipv4" $ipv4 "ipv6" $ipv6 | toJson -}}
{{- end -}}

{{/* Takes `ports` and `protocols`. */}}
{{- define "darkroom.policyPorts" -}}
{{- range $port := .ports }}
{{- range $.protocols }}
- { protocol: {{ . }}, port: {{ int64 $port }} }
{{- end }}
{{- end }}
{{- end -}}

{{/* A rule to `peers`, or to any address without them. Takes `peers` and `ports`. */}}
{{- define "darkroom.egressRule" -}}
- ports:
    {{- include "darkroom.policyPorts" (dict "ports" .ports "protocols" (list "TCP")) | trim | nindent 4 }}
  {{- with .peers }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* Names, PostgreSQL and Temporal: what every role needs. */}}
{{- define "darkroom.commonEgress" -}}
{{- $egress := .Values.networkPolicy.egress -}}
{{- with $egress.dns -}}
- ports:
    {{- include "darkroom.policyPorts" (dict "ports" (list 53) "protocols" (list "UDP" "TCP")) | trim | nindent 4 }}
  to:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{ include "darkroom.egressRule" (dict "peers" $egress.postgresql "ports" $egress.postgresqlPorts) }}
{{ include "darkroom.egressRule" (dict "peers" $egress.temporal "ports" (list (include "darkroom.portOf" .Values.temporal.address))) }}
{{- end -}}

{{/* The store, the collector, public addresses, and the private ones that are allowed. */}}
{{- define "darkroom.serviceEgress" -}}
{{- $egress := .Values.networkPolicy.egress -}}
{{- with $egress.store }}
{{ include "darkroom.egressRule" (dict "peers" . "ports" (list (include "darkroom.portOf" $.Values.store.endpoint))) }}
{{- end }}
{{- with $egress.otlp }}
{{ include "darkroom.egressRule" (dict "peers" . "ports" (list (include "darkroom.portOf" ($.Values.config.OTEL_EXPORTER_OTLP_ENDPOINT | default "")))) }}
{{- end }}
{{- if $egress.internet }}
{{- $denied := include "darkroom.denied" . | fromJson }}
- ports:
    {{- include "darkroom.policyPorts" (dict "ports" .Values.egress.ports "protocols" (list "TCP")) | trim | nindent 4 }}
  to:
    - ipBlock:
        cidr: 0.0.0.0/0
        except:
          {{- concat (include "darkroom.specialIpv4" . | fromJsonArray) $denied.ipv4 | uniq | toYaml | nindent 10 }}
    - ipBlock:
        cidr: 2000::/3
        except:
          {{- concat (include "darkroom.specialIpv6" . | fromJsonArray) $denied.ipv6 | uniq | toYaml | nindent 10 }}
{{- end }}
{{- range .Values.egress.allow }}
{{- $cidr := include "darkroom.cidrOf" .host }}
{{ include "darkroom.egressRule" (dict "peers" (ternary (list (dict "ipBlock" (dict "cidr" $cidr))) .peers (ne $cidr "")) "ports" (list .port)) }}
{{- end }}
{{- with $egress.extra }}
{{ toYaml . }}
{{- end }}
{{- end -}}
