import { toCluster } from '../cluster.js'
import { type Context, exitCodes } from '../context.js'
import { readStatements } from '../migrate.js'
import { readOwnProfile } from '../profile-file.js'
import { toGrants } from '../views/grants.js'

export interface DdlOptions {
  readonly cluster?: string
  /** Print the statements for readers instead. */
  readonly grants: boolean
  /** The user that Tieline works as. */
  readonly definer: string
}

/** Prints the statements that make a profile's database, or those that let others read it. */
export async function ddl(context: Context, options: DdlOptions): Promise<number> {
  const { cluster, definer } = options
  const profile = readOwnProfile(context.profilePath, context.homePath)
  const statements = await readStatements(profile)
  const { database } = profile
  const made =
    cluster === undefined ? statements : toCluster(statements, { name: cluster, database })
  const granted = () =>
    toGrants(statements, { database, definer, ...(cluster !== undefined && { cluster }) })
  for (const statement of options.grants ? granted() : made) context.print(`${statement};\n`)
  return exitCodes.good
}
