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

{{/* A rule to public addresses. Takes `root` and `ports`. */}}
{{- define "darkroom.publicRule" -}}
{{- $denied := include "darkroom.denied" .root | fromJson -}}
- ports:
    {{- include "darkroom.policyPorts" (dict "ports" .ports "protocols" (list "TCP")) | trim | nindent 4 }}
  to:
    - ipBlock:
        cidr: 0.0.0.0/0
        except:
          {{- concat (include "darkroom.specialIpv4" . | fromJsonArray) $denied.ipv4 | uniq | toYaml | nindent 10 }}
    - ipBlock:
        cidr: 2000::/3
        except:
          {{- concat (include "darkroom.specialIpv6" . | fromJsonArray) $denied.ipv6 | uniq | toYaml | nindent 10 }}
{{- end -}}

{{/*
A service of the installation: its peers, or public addresses if its URL is HTTPS on a port that `egress.ports` does not
have. Takes `root`, `peers` and `url`.
*/}}
{{- define "darkroom.ownServiceRule" -}}
{{- $port := include "darkroom.portOf" .url -}}
{{- $isPublic := and .root.Values.networkPolicy.egress.internet (hasPrefix "https://" .url) -}}
{{- if .peers }}
{{ include "darkroom.egressRule" (dict "peers" .peers "ports" (list $port)) }}
{{- else if and $isPublic (not (has $port (splitList "," (include "darkroom.egressPorts" .root)))) }}
{{ include "darkroom.publicRule" (dict "root" .root "ports" (list $port)) }}
{{- end }}
{{- end -}}

{{/* The store, the collector, public addresses, and the private ones that are allowed. */}}
{{- define "darkroom.serviceEgress" -}}
{{- $egress := .Values.networkPolicy.egress -}}
{{- include "darkroom.ownServiceRule" (dict "root" . "peers" $egress.store "url" .Values.store.endpoint) }}
{{- include "darkroom.ownServiceRule" (dict "root" . "peers" $egress.otlp "url" (include "darkroom.collector" .)) }}
{{- if $egress.internet }}
{{ include "darkroom.publicRule" (dict "root" . "ports" .Values.egress.ports) }}
{{- end }}
{{- range .Values.egress.allow }}
{{- $cidr := include "darkroom.cidrOf" .host }}
{{ include "darkroom.egressRule" (dict "peers" (ternary (list (dict "ipBlock" (dict "cidr" $cidr))) .peers (ne $cidr "")) "ports" (list .port)) }}
{{- end }}
{{- with $egress.extra }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "darkroom.collector" -}}
{{- default "" .Values.config.OTEL_EXPORTER_OTLP_ENDPOINT -}}
{{- end -}}

{{/* Whether a URL is of a server that is certainly not at a public address: `true`, or nothing. */}}
{{- define "darkroom.isPrivateUrl" -}}
{{- $host := regexReplaceAll "^[a-z]+://" . "" | regexFind "^(\\[[^\\]]*\\]|[^:/?#]*)" -}}
{{- if or (regexMatch "(^|[.])(svc|local|internal)([.]|$)|^[^.:]+$|^\\[f[cd]" $host) (regexMatch "^(10|127|192[.]168|172[.](1[6-9]|2[0-9]|3[01]))[.]" $host) -}}true{{- end -}}
{{- end -}}

{{/* What the policies do not let out although the values name it, as a list. */}}
{{- define "darkroom.egressNotes" -}}
{{- $notes := list -}}
{{- $egress := .Values.networkPolicy.egress -}}
{{- $urls := list (list "store" "store.endpoint" (default "https://s3.amazonaws.com" .Values.store.endpoint)) -}}
{{- with include "darkroom.collector" . -}}
{{- $urls = append $urls (list "otlp" "config.OTEL_EXPORTER_OTLP_ENDPOINT" .) -}}
{{- end -}}
{{- range $urls -}}
{{- $value := index . 1 -}}
{{- $url := index . 2 -}}
{{- if not (or (get $egress (first .)) $egress.extra) -}}
{{- $empty := printf "networkPolicy.egress.%s is empty, but" (first .) -}}
{{- if hasPrefix "http://" $url -}}
{{- $notes = append $notes (printf "%s %s is plain HTTP: pods cannot reach it. Name its peers." $empty $value) -}}
{{- else if include "darkroom.isPrivateUrl" $url -}}
{{- $notes = append $notes (printf "%s %s is at a private address: pods cannot reach it. Name its peers." $empty $value) -}}
{{- else if not $egress.internet -}}
{{- $notes = append $notes (printf "%s networkPolicy.egress.internet is false: pods cannot reach %s. Name its peers, such as the addresses of a VPC endpoint." $empty (ternary "AWS S3" $value (contains "amazonaws.com" $url))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $hasRole := hasKey .Values.serviceAccount.annotations "eks.amazonaws.com/role-arn" -}}
{{- if not (or .Values.secrets.s3AccessKeyId.key $hasRole $egress.extra) -}}
{{- $notes = append $notes "the store's credentials come from the machine (secrets.s3AccessKeyId.key is empty): EKS Pod Identity and instance roles need a rule in networkPolicy.egress.extra for 169.254.170.23 or 169.254.169.254, port 80." -}}
{{- end -}}
{{- toJson $notes -}}
{{- end -}}
