import { readStatements } from '../schema/migrate.js'
import { toGrants } from '../schema/views/grants.js'
import { readOwnProfile } from '../stack/profile-file.js'
import { type Context, exitCodes } from './context.js'

export interface DdlOptions {
  readonly cluster?: string
  /** Print the statements for readers instead. */
  readonly grants: boolean
  /** The ClickHouse user of Tieline; the views read the tables with its rights. */
  readonly definer: string
}

/** Prints the statements that create a profile's database, or the grants for its readers. */
export async function ddl(context: Context, options: DdlOptions): Promise<number> {
  const { cluster, definer } = options
  const profile = readOwnProfile(context.profilePath, context.homePath)
  const statements = await readStatements(profile, cluster)
  const { database } = profile
  const granted = () =>
    toGrants(statements, { database, definer, ...(cluster !== undefined && { cluster }) })
  for (const statement of options.grants ? granted() : statements) context.print(`${statement};\n`)
  return exitCodes.good
}
