import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringLiteral } from './sql/statement.js'

const writerRole = 'writer'
/** What a reader's statements run with: the engine itself refuses what the role has no right to. */
const readerRole = 'reader'
/** The role of readers who may also see running statements, login attempts and the audit log. */
const auditorRole = 'auditor'

/** As on a server, where a single word is not a SELECT, and an INSERT ends when its rows are stored. */
const settings = '<implicit_select>0</implicit_select><async_insert>0</async_insert>'

/** A reader's rows of it: the front begins the comment of each statement with the name of its reader. */
const queryLog = 'system.query_log'
const isWriter = `has(currentRoles(), '${writerRole}')`
const ownFilter = `${isWriter} OR startsWith(getSetting('log_comment'), concat('reader ', user, ': '))`

/** What an engine lets readers SELECT from, `database.name` each. */
export interface Readable {
  readonly readable: readonly string[]
  /** Those of `readable` that lists of tables and columns show to readers; default: all. */
  readonly listed?: readonly string[] | undefined
  /** For readers who see the audit. */
  readonly auditable: readonly string[]
}

/** The roles of a reader, for SET ROLE. */
export function rolesOf({ seesAudit }: { readonly seesAudit: boolean }): string {
  return seesAudit ? `${readerRole}, ${auditorRole}` : readerRole
}

/**
 * Writes the engine's configuration, in which the roles of readers may SELECT from some views and tables
 * and nothing else. The one user of the engine has all roles; a connection of a reader gives the
 * writer's up. Returns the path of the configuration.
 */
export function writeAccess(folder: string, rights: Readable): string {
  const { readable, auditable } = rights
  const usersPath = join(folder, 'users.xml')
  const configPath = join(folder, 'config.xml')
  const users = `<clickhouse>
  <profiles><default>${settings}</default></profiles>
  <quotas><default/></quotas>
  <roles>
    <${writerRole}><grants><query>GRANT ALL ON *.* WITH GRANT OPTION</query></grants></${writerRole}>
    <${readerRole}><grants>${grantsOf([...readable, queryLog])}</grants></${readerRole}>
    <${auditorRole}><grants>${grantsOf([...auditable, 'system.processes'])}</grants></${auditorRole}>
  </roles>
  <users>
    <default>
      <password/>
      <networks><ip>::/0</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <grants>
        <query>GRANT ${writerRole}</query>
        <query>GRANT ${readerRole}</query>
        <query>GRANT ${auditorRole}</query>
      </grants>
      <databases>
        <system>
          <tables><filter>${listFilter(rights, 'name')}</filter></tables>
          <columns><filter>${listFilter(rights, 'table')}</filter></columns>
          <databases><filter>${isWriter} OR name != 'system'</filter></databases>
          <query_log><filter>${ownFilter}</filter></query_log>
        </system>
      </databases>
    </default>
  </users>
</clickhouse>
`
  writeFileSync(usersPath, users, { mode: 0o600 })
  const config = `<clickhouse><users_config>${usersPath}</users_config></clickhouse>\n`
  writeFileSync(configPath, config, { mode: 0o600 })
  return configPath
}

/** What a role may read is also shown to it, so what lists show to readers is filtered. */
function listFilter({ readable, listed = readable, auditable }: Readable, column: string): string {
  const oneOf = (names: readonly string[]): string =>
    `has(CAST([${names.map(stringLiteral).join(', ')}], 'Array(String)'), concat(database, '.', ${column}))`
  return [
    isWriter,
    oneOf(listed),
    `(has(currentRoles(), '${auditorRole}') AND ${oneOf(auditable)})`,
    `lower(database) IN ('system', 'information_schema')`,
  ].join(' OR ')
}

function grantsOf(names: readonly string[]): string {
  if (names.length === 0) return '<query>GRANT USAGE ON *.*</query>'
  return names.map((name) => `<query>GRANT SELECT ON ${name}</query>`).join('')
}
