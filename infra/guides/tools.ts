import { fence } from './markdown.js'

/** Where and as whom readers read. A password is only named, never contained. */
export interface ReadAccess {
  readonly url: string
  readonly database: string
  readonly user: string
  readonly password:
    | { readonly kind: 'file'; readonly homePath: string; readonly path: string }
    | { readonly kind: 'setting'; readonly name: string }
    | { readonly kind: 'administrator' }
}

/** The access of an installation with the usual folder and port, for the guide. */
const usual: ReadAccess = {
  url: 'http://127.0.0.1:8123',
  database: 'tieline',
  user: 'reader',
  password: { kind: 'file', homePath: '/srv/acme', path: '/srv/acme/secrets.json' },
}

const preface = `# Read with your tools

This page is what \`tieline connect\` prints for an installation with the data folder \`/srv/acme\`; a test
keeps it up to date. Run the command to get the same with your own address. A test runs the blocks
for curl, JavaScript and Excel. Python, JDBC and Grafana are **not tested** with their programs, only the
requests that the drivers send.

`

const firstQuery = 'SELECT * FROM usage LIMIT 5'

/** How the usual tools read an installation, as Markdown whose blocks can be pasted. */
export function renderTools(access: ReadAccess): string {
  const sections = [
    reader(access),
    curl(access),
    javaScript(access),
    python(access),
    jdbc(access),
    grafana(access),
    excel(access),
  ]
  return `${sections.join('\n\n')}\n`
}

/** The guide `tools.md`. */
export function renderToolsGuide(): string {
  return `${preface}${renderTools(usual)}
## What to read

The [data dictionary](../schema/views/dictionary.md) lists the views; \`SHOW TABLES\` lists the same.
[Questions and their queries](query.md) has examples. [Limits](../schema/views/README.md#limits) of
readers apply to every tool.
`
}

function reader({ url, database, user, password }: ReadAccess): string {
  const lines = [
    '## Address and reader',
    '',
    `- URL: \`${url}\` (ClickHouse's HTTP interface)`,
    `- Database: \`${database}\``,
    `- User: \`${user}\`, who can read the published views and change nothing`,
    `- Password: ${passwordPlace(password)}`,
  ]
  if (password.kind === 'file') {
    lines.push(
      `- A user and password for each person: \`tieline reader add ada --home ${quoted(password.homePath)}\``,
    )
  }
  if (isLoopback(url)) {
    const port = portOf(url)
    lines.push(
      '- From another machine, forward the port first:',
      `  \`ssh -N -L ${port}:127.0.0.1:${port} USER@HOST\``,
    )
  }
  return [
    ...lines,
    '',
    'Put the password into a variable, so that no command contains it:',
    '',
    fence(passwordCommand(password), 'sh'),
  ].join('\n')
}

function passwordPlace(password: ReadAccess['password']): string {
  if (password.kind === 'file') return `the field \`reader\` of \`${password.path}\``
  if (password.kind === 'setting') return `in \`${password.name}\``
  return 'your administrator created it with the user'
}

function passwordCommand(password: ReadAccess['password']): string {
  if (password.kind !== 'file') return 'read -rs TIELINE_PASSWORD && export TIELINE_PASSWORD'
  const script = 'console.log(JSON.parse(fs.readFileSync(process.argv[1])).reader)'
  return `export TIELINE_PASSWORD="$(node -e '${script}' ${quoted(password.path)})"`
}

function curl({ url, database, user }: ReadAccess): string {
  const command = `curl -sS --user ${quoted(user)}:"$TIELINE_PASSWORD" \\
  --data-binary ${quoted(`${firstQuery} FORMAT CSVWithNames`)} \\
  ${quoted(`${url}/?database=${encodeURIComponent(database)}`)}`
  return `## curl\n\n${fence(command, 'sh')}`
}

function javaScript({ url, database, user }: ReadAccess): string {
  const code = `import { env } from 'node:process'
import { createClient } from '@clickhouse/client'

const client = createClient({
  url: '${url}',
  database: '${database}',
  username: '${user}',
  password: env.TIELINE_PASSWORD,
})
const result = await client.query({
  query: '${firstQuery}',
  format: 'JSONEachRow',
})
console.log(await result.json())
await client.close()`
  return `## JavaScript\n\nInstall \`@clickhouse/client\`.\n\n${fence(code, 'js')}`
}

function python({ url, database, user }: ReadAccess): string {
  const { hostname, protocol } = new URL(url)
  const code = `import os
import clickhouse_connect

client = clickhouse_connect.get_client(
    host='${hostname}', port=${portOf(url)}, secure=${protocol === 'https:' ? 'True' : 'False'}, database='${database}',
    username='${user}', password=os.environ['TIELINE_PASSWORD'])
result = client.query('${firstQuery}')
print(result.column_names, result.result_rows)`
  return `## Python\n\nInstall \`clickhouse-connect\`. \`client.query_df\` returns a pandas data frame.\n\n${fence(code, 'python')}`
}

function jdbc({ url, database, user }: ReadAccess): string {
  const { hostname, protocol } = new URL(url)
  const isSecure = protocol === 'https:'
  const jdbcUrl = `jdbc:clickhouse:${url}/${database}`
  return `## JDBC: DBeaver, Metabase, Tableau

The driver is \`com.clickhouse:clickhouse-jdbc\`. Its URL:

${fence(jdbcUrl)}

- DBeaver: New connection, ClickHouse. Host \`${hostname}\`, port \`${portOf(url)}\`, database \`${database}\`, user \`${user}\`, SSL ${isSecure ? 'on' : 'off'}.
- Metabase: Add a database, ClickHouse. The same values; set "Databases" to \`${database}\`.
- Tableau: Other databases (JDBC), dialect SQL92, the URL above and user \`${user}\`. Put the driver into Tableau's folder
  of drivers first.`
}

function grafana({ url, database, user }: ReadAccess): string {
  const yaml = `apiVersion: 1
datasources:
  - name: Tieline
    type: vertamedia-clickhouse-datasource
    access: proxy
    url: ${url}
    basicAuth: true
    basicAuthUser: ${user}
    secureJsonData: { basicAuthPassword: $TIELINE_PASSWORD }
    jsonData: { usePost: true, defaultDatabase: ${database} }`
  return `## Grafana

Install the Altinity plugin for ClickHouse and save this as a file of \`provisioning/datasources\`.

${fence(yaml, 'yaml')}

The plugin \`grafana-clickhouse-datasource\` reads the same address with the protocol HTTP.`
}

function excel({ url, database, user }: ReadAccess): string {
  const query = new URLSearchParams({ database, query: `${firstQuery} FORMAT CSVWithNames` })
  return `## Excel

Data, From Web, and this address. For the credentials choose Basic, user \`${user}\`.

${fence(`${url}/?${query}`)}

Import \`meter_id\` and account numbers as text, so that they keep leading zeros.`
}

function isLoopback(url: string): boolean {
  return /^(127\.|localhost$|\[::1\]$)/.test(new URL(url).hostname)
}

function portOf(url: string): string {
  const { port, protocol } = new URL(url)
  return port || (protocol === 'https:' ? '443' : '80')
}

/** A text as one word of a shell. */
function quoted(text: string): string {
  return /^[\w./:@=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
