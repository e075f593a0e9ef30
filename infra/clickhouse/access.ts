import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What a reader's statements run with: the engine itself refuses what the role has no right to. */
export const readerRole = 'reader'

/**
 * Writes the engine's configuration, in which the role of readers may SELECT from some views,
 * `database.view` each, and nothing else. The one user of the engine has both roles; a connection of a
 * reader gives the other one up. Returns the path of the configuration.
 */
export function writeAccess(folder: string, readable: readonly string[]): string {
  const usersPath = join(folder, 'users.xml')
  const configPath = join(folder, 'config.xml')
  const grants = readable.map((name) => `<query>GRANT SELECT ON ${name}</query>`).join('')
  const users = `<clickhouse>
  <profiles><default/></profiles>
  <quotas><default/></quotas>
  <roles>
    <writer><grants><query>GRANT ALL ON *.* WITH GRANT OPTION</query></grants></writer>
    <${readerRole}><grants>${grants || '<query>GRANT USAGE ON *.*</query>'}</grants></${readerRole}>
  </roles>
  <users>
    <default>
      <password/>
      <networks><ip>::/0</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <grants><query>GRANT writer</query><query>GRANT ${readerRole}</query></grants>
    </default>
  </users>
</clickhouse>
`
  writeFileSync(usersPath, users, { mode: 0o600 })
  const config = `<clickhouse><users_config>${usersPath}</users_config></clickhouse>\n`
  writeFileSync(configPath, config, { mode: 0o600 })
  return configPath
}
