{{- /* What runs a part: its Deployment, budget, Service, ServiceMonitor and network policy. */ -}}

{{- define "supercargo.container" -}}
image: {{ .root.Values.image.repository }}:{{ default .root.Chart.AppVersion .root.Values.image.tag }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args:
  {{- toYaml .args | nindent 2 }}
  - --secure-port={{ .values.port }}
  - --logging-format={{ .root.Values.logging.format }}
  - --v={{ .root.Values.logging.level }}
  {{- with .values.extraArgs }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
ports:
  - {name: https-metrics, containerPort: {{ .values.port }}}
startupProbe:
  httpGet: {path: /livez, port: https-metrics, scheme: HTTPS}
  periodSeconds: 2
  failureThreshold: 30
livenessProbe:
  httpGet: {path: /livez, port: https-metrics, scheme: HTTPS}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: https-metrics, scheme: HTTPS}
  periodSeconds: 5
resources: {{- toYaml .values.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{- define "supercargo.pod" -}}
serviceAccountName: {{ include "supercargo.account" . }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
terminationGracePeriodSeconds: 30
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- if .values.topologySpread }}
topologySpreadConstraints:
  {{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "supercargo.selector" $ | nindent 8 }}
  {{- end }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "supercargo.podMetadata" -}}
labels:
  {{- include "supercargo.selector" . | nindent 2 }}
  {{- with .values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- $annotations := merge (dict) (default dict .annotations) .values.podAnnotations }}
{{- with $annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* A Deployment of equal replicas of which one leads, and what belongs to it. */ -}}
{{- define "supercargo.workload" -}}
{{- $name := printf "%s-%s" (include "supercargo.fullname" .root) .part -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "supercargo.labels" . | nindent 4 }}
spec:
  replicas: {{ .values.replicas }}
  selector:
    matchLabels: {{- include "supercargo.selector" . | nindent 6 }}
  strategy:
    # Replicas that stand by take over at once.
    rollingUpdate: {maxSurge: 1, maxUnavailable: 0}
  template:
    metadata: {{- include "supercargo.podMetadata" . | nindent 6 }}
    spec:
      {{- include "supercargo.pod" . | nindent 6 }}
      containers:
        - name: {{ .part }}
          {{- include "supercargo.container" . | nindent 10 }}
          {{- with .mounts }}
          volumeMounts: {{- toYaml . | nindent 12 }}
          {{- end }}
      {{- with .volumes }}
      volumes: {{- toYaml . | nindent 8 }}
      {{- end }}
{{- if and .values.podDisruptionBudget (gt (int .values.replicas) 1) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "supercargo.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {{- include "supercargo.selector" . | nindent 6 }}
{{- end }}
{{- include "supercargo.reachable" . }}
{{- end -}}

{{- /* Who reaches the metrics of a part, and how. */ -}}
{{- define "supercargo.reachable" -}}
{{- $name := printf "%s-%s" (include "supercargo.fullname" .root) .part -}}
{{- $metrics := .root.Values.metrics -}}
{{- if $metrics.service }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "supercargo.labels" . | nindent 4 }}
spec:
  # Each replica has metrics of its own.
  clusterIP: None
  selector: {{- include "supercargo.selector" . | nindent 4 }}
  ports:
    - {name: https-metrics, port: {{ .values.port }}, targetPort: https-metrics}
{{- end }}
{{- if $metrics.serviceMonitor.enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "supercargo.labels" . | nindent 4 }}
    {{- with $metrics.serviceMonitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  jobLabel: app.kubernetes.io/component
  selector:
    matchLabels: {{- include "supercargo.selector" . | nindent 6 }}
  endpoints:
    - port: https-metrics
      scheme: https
      interval: {{ $metrics.serviceMonitor.interval }}
      # The certificate is made by each replica when it starts.
      tlsConfig: {insecureSkipVerify: true}
{{- end }}
{{- if .root.Values.networkPolicy.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "supercargo.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels: {{- include "supercargo.selector" . | nindent 6 }}
  policyTypes: [Ingress]
  {{- with .root.Values.networkPolicy.metricsFrom }}
  ingress:
    - ports: [{port: https-metrics}]
      from: {{- toYaml . | nindent 8 }}
  {{- else }}
  ingress: []
  {{- end }}
{{- end }}
{{- end -}}
