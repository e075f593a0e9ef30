import { readStatements } from '../schema/migrate.js'
import { toGrants } from '../schema/views/grants.js'
import { readOwnProfile } from '../stack/profile-file.js'
import { type Context, exitCodes } from './context.js'

export interface DdlOptions {
  /** Instead of the one in the profile. */
  readonly cluster?: string
  /** Print the statements for readers instead. */
  readonly grants: boolean
}

/** Prints the statements that create a profile's database, or the grants for its readers. */
export async function ddl(context: Context, options: DdlOptions): Promise<number> {
  const profile = readOwnProfile(context.profilePath, context.homePath)
  const { cluster = profile.store.cluster } = options
  const statements = await readStatements(profile, cluster)
  const granted = () => toGrants(statements, { database: profile.database, cluster })
  for (const statement of options.grants ? granted() : statements) context.print(`${statement};\n`)
  return exitCodes.good
}
