{{- define "sequencer.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "sequencer.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sequencer.labels" -}}
{{ include "sequencer.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "sequencer.image" -}}
{{- $image := index . 0 }}{{ $chart := index . 1 -}}
{{ $image.repository }}{{ if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default $chart.AppVersion }}{{ end }}
{{- end }}

{{/* What every container runs as: nobody, able to do nothing, on files that stay as they are. */}}
{{- define "sequencer.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "sequencer.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* The environment of serve, and of doctor. */}}
{{- define "sequencer.env" -}}
{{- $secret := required "secret: name the Secret with SEQUENCER_REDIS_URL and SEQUENCER_API_KEYS" .Values.secret -}}
{{- range $name, $optional := dict "SEQUENCER_REDIS_URL" false "SEQUENCER_WORKER_TOKEN" true "SEQUENCER_LEDGER_AUTH" true }}
- name: {{ $name }}
  valueFrom: {secretKeyRef: {name: {{ $secret }}, key: {{ $name }}{{ if $optional }}, optional: true{{ end }}}}
{{- end }}
- {name: SEQUENCER_API_KEYS_FILE, value: /run/secrets/sequencer/api-keys}
{{- if .Values.webhooks.keyName }}
- {name: SEQUENCER_WEBHOOKS_FILE, value: /run/secrets/sequencer/webhooks.json}
{{- end }}
- name: GOMEMLIMIT
  valueFrom: {resourceFieldRef: {resource: limits.memory}}
{{- end }}

{{/* The keys of the API and the webhooks' endpoints as files, read again when the Secret changes. */}}
{{- define "sequencer.keys" -}}
{name: keys, secret: {secretName: {{ .Values.secret }}, defaultMode: 0440, items: [{key: SEQUENCER_API_KEYS, path: api-keys}{{ with .Values.webhooks.keyName }}, {key: {{ . }}, path: webhooks.json}{{ end }}]}}
{{- end }}
