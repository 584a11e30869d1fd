{{- /* Names and labels. A part is scheduler, controllers, fabric or node. */ -}}

{{- define "supercargo.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "supercargo.account" -}}
{{- $values := index .root.Values .part -}}
{{- default (printf "%s-%s" (include "supercargo.fullname" .root) .part) $values.serviceAccount.name -}}
{{- end -}}

{{- define "supercargo.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{ include "supercargo.selector" . }}
{{- end -}}

{{- define "supercargo.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .part }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{- /* The feature gates as a flag; negotiation turns one on. */ -}}
{{- define "supercargo.gates" -}}
{{- $gates := deepCopy .Values.featureGates -}}
{{- if .Values.negotiation.enabled -}}
{{- $_ := set $gates "DRAControlPlaneController" true -}}
{{- end -}}
{{- $pairs := list -}}
{{- range $gate := keys $gates | sortAlpha -}}
{{- $pairs = append $pairs (printf "%s=%v" $gate (index $gates $gate)) -}}
{{- end -}}
{{- join "," $pairs -}}
{{- end -}}

{{- /* The controllers that run, as a list in JSON. */ -}}
{{- define "supercargo.controllers" -}}
{{- $known := omit (.Files.Get "files/roles/controllers.yaml" | fromYaml) "always" | keys | sortAlpha -}}
{{- $named := .Values.controllers.names -}}
{{- if .Values.negotiation.enabled -}}
{{- $named = append $named "podschedulingcontext-cleaner-controller" -}}
{{- end -}}
{{- $run := list -}}
{{- range $name := $known -}}
{{- if has (printf "-%s" $name) $named -}}
{{- else if or (has "*" $named) (has $name $named) -}}
{{- $run = append $run $name -}}
{{- end -}}
{{- end -}}
{{- range $name := $named -}}
{{- if not (or (eq $name "*") (has (trimPrefix "-" $name) $known)) -}}
{{- fail (printf "controllers.names: there is no controller %s; hint: there are %s" $name (join ", " $known)) -}}
{{- end -}}
{{- end -}}
{{- toJson $run -}}
{{- end -}}
