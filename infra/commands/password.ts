import { hashPassword } from '../../api/access/password.js'
import { Fault } from '../../schemas/fault.js'
import { type Context, exitCodes } from './context.js'

const charactersMax = 1_024

/** Reads a password from standard input and prints its hash for a profile. */
export async function password(context: Context): Promise<number> {
  let text = ''
  for await (const piece of process.stdin) {
    text += piece
    if (text.length > charactersMax) break
  }
  const secret = text.replace(/\r?\n$/, '')
  if (secret === '' || secret.length > charactersMax) {
    throw new Fault(
      'CONFIG',
      `write a password of 1 to ${charactersMax} characters to standard input`,
    )
  }
  context.print(await hashPassword(secret))
  return exitCodes.good
}
