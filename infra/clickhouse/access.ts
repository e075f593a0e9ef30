import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What a reader's statements run with: the engine itself refuses what the role has no right to. */
const readerRole = 'reader'
/** The role of readers who may also see running statements, login attempts and the audit log. */
const auditorRole = 'auditor'

/** What an engine lets readers SELECT from, `database.name` each. */
export interface Readable {
  readonly readable: readonly string[]
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
export function writeAccess(folder: string, { readable, auditable }: Readable): string {
  const usersPath = join(folder, 'users.xml')
  const configPath = join(folder, 'config.xml')
  const users = `<clickhouse>
  <profiles><default/></profiles>
  <quotas><default/></quotas>
  <roles>
    <writer><grants><query>GRANT ALL ON *.* WITH GRANT OPTION</query></grants></writer>
    <${readerRole}><grants>${grantsOf(readable)}</grants></${readerRole}>
    <${auditorRole}><grants>${grantsOf([...auditable, 'system.processes'])}</grants></${auditorRole}>
  </roles>
  <users>
    <default>
      <password/>
      <networks><ip>::/0</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <grants>
        <query>GRANT writer</query>
        <query>GRANT ${readerRole}</query>
        <query>GRANT ${auditorRole}</query>
      </grants>
    </default>
  </users>
</clickhouse>
`
  writeFileSync(usersPath, users, { mode: 0o600 })
  const config = `<clickhouse><users_config>${usersPath}</users_config></clickhouse>\n`
  writeFileSync(configPath, config, { mode: 0o600 })
  return configPath
}

function grantsOf(names: readonly string[]): string {
  if (names.length === 0) return '<query>GRANT USAGE ON *.*</query>'
  return names.map((name) => `<query>GRANT SELECT ON ${name}</query>`).join('')
}
