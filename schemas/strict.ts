import { z } from 'zod'

/** An object of exactly these fields; any other is refused. */
export function strict<S extends z.core.$ZodLooseShape>(shape: S) {
  return z.strictObject(shape).readonly()
}

/** Settings that may be left out as a whole, for each of them has a default. */
export function section<S extends z.core.$ZodLooseShape>(shape: S) {
  return strict(shape).prefault({} as never)
}
