import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { renderMarkdownTable } from '../guides/markdown.js'
import { packageRoot } from '../package-root.js'
import { parseYaml } from '../yaml.js'
import { entriesOf } from './catalogue.js'

const preface = `# Metrics

Generated from \`catalogue.ts\` and \`alerts.yaml\`; a test compares this page with them.

Prometheus scrapes two addresses. The gateway's is \`gateway.operations\` of the profile (default
\`127.0.0.1:9464\`). The worker's is \`worker.operations\` (default loopback, the first free port from
9465; set one for Prometheus). \`tieline up\` prints both. Neither asks for a password: keep them on
loopback or in a private network. No label contains personal data, tokens or file contents.

\`\`\`yaml
scrape_configs:
  - job_name: tieline
    scrape_interval: 15s
    static_configs: [{ targets: ["127.0.0.1:9464", "127.0.0.1:9465"] }]
rule_files: [alerts.yaml]
\`\`\`

\`alerts.yaml\` contains the alert rules, \`dashboard.json\` a Grafana dashboard. Both expect
\`job="tieline"\`. A test runs each of their expressions in Prometheus over a scrape of a running stack.

What a scrape costs:

- The gateway queries nothing.
- The worker makes two requests to Redis for each queue.
- At most every 5 seconds, the worker makes one pass over the ledger in ClickHouse (a row for each file).
- At most every 5 minutes, it reads the newest reads of at most 256 meters.
- Each query is read-only and limited to one thread, 2 seconds and 256 MiB, however many scrape.

Metrics that are not collected within 4 seconds are missing; \`tieline_store_up\` or \`tieline_queue_up\` is 0.

Both processes also export Node's own metrics, \`process_*\` and \`nodejs_*\`, including event-loop lag
(\`nodejs_eventloop_lag_p99_seconds\`).
`

/** The reference of all alerts and metrics, as Markdown. */
export function renderReference(): string {
  const sections = entriesOf().map(([name, { type, of, labels, help, bound }]) => {
    const named = labels.length === 0 ? 'no labels' : `by ${labels.map(code).join(', ')}`
    return `## ${name}\n\n${help}\n\n${type} of the ${of.join(' and the ')}, ${named}. Series: ${bound}.\n`
  })
  return [preface, renderAlerts(), ...sections].join('\n')
}

interface Rules {
  readonly groups: readonly { readonly rules: readonly Rule[] }[]
}

interface Rule {
  readonly alert: string
  readonly for?: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly description: string }
}

/** The alert rules as a table: severity, duration, summary and action. */
function renderAlerts(): string {
  const file = join(packageRoot(import.meta.url), 'infra', 'metrics', 'alerts.yaml')
  const { groups } = parseYaml(readFileSync(file, 'utf8')) as Rules
  const rows = groups.flatMap(({ rules }) =>
    rules.map(({ alert, for: lasting = '', labels, annotations: { summary, description } }) => [
      code(alert),
      labels.severity,
      lasting,
      summary.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, '_$1_'),
      description,
    ]),
  )
  const titles = ['alert', 'severity', 'for', 'summary', 'action']
  return `## Alerts\n\n${renderMarkdownTable(titles, rows)}\n`
}

function code(text: string): string {
  return `\`${text}\``
}
