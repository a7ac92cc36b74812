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

{{/* Of all keys a pod of a StatefulSet is given its own, in memory, readable by it alone. */}}
{{- define "sequencer.ownKey" -}}
name: key
image: {{ include "sequencer.image" (list .Values.workers.image .Chart) }}
imagePullPolicy: {{ .Values.workers.image.pullPolicy }}
command: [node, -e]
args: ["const fs = require('fs'); fs.writeFileSync('/run/key/payer', fs.readFileSync('/run/keys/' + process.env.ORDINAL), {mode: 0o600})"]
env: [{name: ORDINAL, valueFrom: {fieldRef: {fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']"}}}]
resources: {requests: {cpu: 10m, memory: 64Mi}, limits: {memory: 128Mi}}
securityContext: {{- include "sequencer.security" . | nindent 2 }}
volumeMounts: [{name: keys, mountPath: /run/keys, readOnly: true}, {name: key, mountPath: /run/key}]
{{- end }}

{{/* What pods of a component have in common, up to their containers. */}}
{{- define "sequencer.pod" -}}
{{- $root := index . 0 }}{{ $component := index . 1 -}}
automountServiceAccountToken: false
enableServiceLinks: false
serviceAccountName: {{ include "sequencer.name" $root }}
securityContext: {{- include "sequencer.podSecurity" $root | nindent 2 }}
terminationGracePeriodSeconds: 60
topologySpreadConstraints:
  - topologyKey: kubernetes.io/hostname
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "sequencer.selector" $root | nindent 8 }}
        app.kubernetes.io/component: {{ $component }}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with (index . 2).nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with (index . 2).tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The names by which the pods of a component are reached, one each. */}}
{{- define "sequencer.peers" -}}
{{- $root := index . 0 }}{{ $component := index . 1 -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ printf "%s-%s" (include "sequencer.name" $root) $component }}
  labels: {{- include "sequencer.labels" $root | nindent 4 }}
spec:
  clusterIP: None
  # The sequencer asks each itself whether it is ready.
  publishNotReadyAddresses: true
  selector:
    {{- include "sequencer.selector" $root | nindent 4 }}
    app.kubernetes.io/component: {{ $component }}
  ports: [{name: http, port: 3000, targetPort: http}]
{{- end }}

{{/* A volume of its own for each pod. */}}
{{- define "sequencer.claim" -}}
{{- $of := index . 1 -}}
- metadata: {name: {{ index . 0 }}}
  spec:
    accessModes: [ReadWriteOnce]
    {{- with $of.storageClassName }}
    storageClassName: {{ . }}
    {{- end }}
    resources: {requests: {storage: {{ $of.size }}}}
{{- end }}

{{/* What of this release is called by the sequencer. */}}
{{- define "sequencer.components" -}}
{{- $all := list }}
{{- if .Values.workers.accounts }}{{ $all = append $all "worker" }}{{ end }}
{{- if .Values.signers.accounts }}{{ $all = concat $all (list "signer" "prover") }}{{ end }}
{{- toJson $all }}
{{- end }}
