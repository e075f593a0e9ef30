import { z } from 'zod'

/** What differs between utilities in how the worker is run. */
export const workerSettings = z
  .strictObject({
    /** Health and metrics of the worker, plain HTTP; without a port the first free one from 9465. */
    operations: z
      .strictObject({
        host: z.string().min(1, 'name a host').default('127.0.0.1'),
        port: z.int().min(1, 'use a port from 1 to 65535').max(65_535).optional(),
      })
      .readonly()
      .prefault({}),
  })
  .readonly()
  .prefault({})
