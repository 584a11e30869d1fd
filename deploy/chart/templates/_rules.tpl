{{- /* Rules of roles, of which the sources are in files/roles. */ -}}

{{- /* Many rules as few: one for each resource, with all its verbs. */ -}}
{{- define "supercargo.rules" -}}
{{- $merged := dict -}}
{{- range $rule := . -}}
{{- range $group := $rule.apiGroups -}}
{{- range $resource := $rule.resources -}}
{{- $key := printf "%s/%s" $group $resource -}}
{{- $entry := default (dict "group" $group "resource" $resource "verbs" list) (get $merged $key) -}}
{{- $_ := set $entry "verbs" (concat $entry.verbs $rule.verbs | uniq) -}}
{{- $_ := set $merged $key $entry -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $key := keys $merged | sortAlpha -}}
{{- $entry := get $merged $key }}
- {apiGroups: [{{ $entry.group | quote }}], resources: [{{ $entry.resource }}], verbs: [{{ join ", " (sortAlpha $entry.verbs) }}]}
{{- end }}
{{- end -}}

{{- /* The rules of a part, as YAML. */ -}}
{{- define "supercargo.rulesOf" -}}
{{- $values := .root.Values -}}
{{- $sources := .root.Files.Get (printf "files/roles/%s.yaml" .part) | fromYaml -}}
{{- $chosen := list -}}
{{- if eq .part "scheduler" -}}
{{- $writes := ne $values.scheduler.mode "shadow" -}}
{{- $chosen = concat $chosen (list "reads") (ternary (list "writes") list $writes) -}}
{{- if $values.negotiation.enabled -}}
{{- $chosen = concat $chosen (list "negotiationReads") (ternary (list "negotiationWrites") list $writes) -}}
{{- end -}}
{{- else if eq .part "controllers" -}}
{{- $chosen = concat (list "always") (include "supercargo.controllers" .root | fromJsonArray) -}}
{{- else if eq .part "fabric" -}}
{{- $chosen = list "fabric-controller" -}}
{{- else if eq .part "node" -}}
{{- $chosen = list "node" -}}
{{- else -}}
{{- $chosen = list "driver-controller" -}}
{{- end -}}
{{- $rules := list -}}
{{- range $key := $chosen -}}
{{- $rules = concat $rules (get $sources $key) -}}
{{- end -}}
{{- include "supercargo.rules" $rules -}}
{{- end -}}

{{- /* An account, its role in the whole cluster and the binding of the two. */ -}}
{{- define "supercargo.permissions" -}}
{{- $account := include "supercargo.account" . -}}
{{- $values := index .root.Values .part -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $account }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "supercargo.labels" . | nindent 4 }}
  {{- with $values.serviceAccount.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $account }}
  labels: {{- include "supercargo.labels" . | nindent 4 }}
rules:
{{- include "supercargo.rulesOf" . | trim | nindent 2 }}
{{- with .rules }}
{{- . | nindent 2 }}
{{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $account }}
  labels: {{- include "supercargo.labels" . | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ $account }}}
subjects:
  - {kind: ServiceAccount, name: {{ $account }}, namespace: {{ .root.Release.Namespace }}}
  {{- with .subjects }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- /* A role in one namespace for an account, with its binding. */ -}}
{{- define "supercargo.role" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .account }}
  namespace: {{ .namespace }}
  labels: {{- include "supercargo.labels" . | nindent 4 }}
rules:
{{- .rules | trim | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .account }}
  namespace: {{ .namespace }}
  labels: {{- include "supercargo.labels" . | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .account }}}
subjects:
  - {kind: ServiceAccount, name: {{ .account }}, namespace: {{ .root.Release.Namespace }}}
  {{- with .subjects }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- /* The rules for electing a leader by a Lease. Creating cannot be restricted to a name. */ -}}
{{- define "supercargo.election" -}}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [{{ . }}], verbs: [get, update]}
{{- end -}}
