{{/*
Secrets where only names belong: values are in the release's Secret, in shell histories and in repositories. The message
never repeats them.
*/}}

{{/* Whether the text looks like a credential: `true`, or nothing. */}}
{{- define "darkroom.looksSecret" -}}
{{- $isKnown := regexMatch "^(sk|pk|rk)[-_][A-Za-z0-9_-]{16,}$|^(AKIA|ASIA)[0-9A-Z]{16}$|^AIza[A-Za-z0-9_-]{30,}$|^(gh[oprsu]|github_pat|glpat|hf|r8|xai|gsk|xox[abprs])[-_][A-Za-z0-9_-]{20,}$|^eyJ[A-Za-z0-9_-]+[.]" . -}}
{{- $isHexadecimal := regexMatch "^[0-9a-fA-F]{32,}$|^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$" . -}}
{{- $isMixed := and (regexMatch "^[A-Za-z0-9]{32,}$" .) (regexMatch "[a-z]" .) (regexMatch "[A-Z]" .) (regexMatch "[0-9]" .) -}}
{{- if or $isKnown $isHexadecimal $isMixed -}}true{{- end -}}
{{- end -}}

{{- define "darkroom.secretProblems" -}}
{{- $problems := list -}}
{{- $references := dict -}}
{{- range $name, $ref := .Values.secrets -}}
{{- if kindIs "map" $ref -}}
{{- $_ := set $references (printf "secrets.%s.key" $name) $ref.key -}}
{{- $_ := set $references (printf "secrets.%s.existingSecret" $name) $ref.existingSecret -}}
{{- else -}}
{{- $_ := set $references (printf "secrets.%s" $name) $ref -}}
{{- end -}}
{{- end -}}
{{- range .Values.upstreams -}}
{{- $_ := set $references (printf "upstreams (%s): key" .name) .key -}}
{{- $_ := set $references (printf "upstreams (%s): existingSecret" .name) .existingSecret -}}
{{- end -}}
{{- range $where, $text := $references -}}
{{- if include "darkroom.looksSecret" (default "" $text) -}}
{{- $problems = append $problems (printf "%s looks like a secret itself: it is a name, of a Secret or of a key in one" $where) -}}
{{- end -}}
{{- end -}}
{{- range .Values.extraEnv -}}
{{- $value := default "" .value -}}
{{- $hasName := regexMatch "(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|KEY|CREDENTIALS)$" (upper .name) -}}
{{- $isNamed := and $hasName (regexMatch "^[^/\\s]{8,}$" $value) -}}
{{- /* Hexadecimal digits alone may be the hash of a commit. */ -}}
{{- $isSecret := and (include "darkroom.looksSecret" $value) (not (regexMatch "^[0-9a-fA-F-]+$" $value)) -}}
{{- if or $isNamed $isSecret (regexMatch "://[^/@\\s:]*:[^/@\\s]+@" $value) -}}
{{- $problems = append $problems (printf "extraEnv: %s looks like a secret: take it from a Secret, with valueFrom.secretKeyRef" .name) -}}
{{- end -}}
{{- end -}}
{{- toJson $problems -}}
{{- end -}}
