import { toCluster } from '../cluster.js'
import { type Context, exitCodes } from '../context.js'
import { readStatements } from '../migrate.js'
import { readOwnProfile } from '../profile-file.js'

/** Prints the statements that make a profile's database, for one server or for a cluster. */
export async function ddl(
  context: Context,
  { cluster }: { readonly cluster?: string },
): Promise<number> {
  const profile = readOwnProfile(context.profilePath, context.homePath)
  const statements = await readStatements(profile)
  const { database } = profile
  const told =
    cluster === undefined ? statements : toCluster(statements, { name: cluster, database })
  for (const statement of told) context.print(`${statement};\n`)
  return exitCodes.good
}
