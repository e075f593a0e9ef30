import { z } from 'zod'
import { serviceUsers } from './gateway-bind.js'

const file = z.string().min(1, 'name a file')

/** On an address other than loopback, `users` or `clientCaFile` decides who may see the page. */
const operations = z
  .strictObject({
    host: z.string().min(1, 'name a host').default('127.0.0.1'),
    port: z.int().min(1, 'use a port from 1 to 65535').max(65_535).optional(),
    /** Accounts of people, for basic authentication. */
    users: serviceUsers.optional(),
    /** HTTPS; with an authority of client certificates the page wants one of those. */
    tls: z
      .strictObject({ certFile: file, keyFile: file, clientCaFile: file.optional() })
      .readonly()
      .optional(),
    /** How often certificate files are looked at; new ones are taken without a restart. */
    certificateSeconds: z.int().min(1).max(86_400).default(10),
  })
  .readonly()

/** What differs between utilities in how the worker is run. */
export const workerSettings = z
  .strictObject({
    /** Health, metrics and the page; without a port the first free one from 9465. */
    operations: operations.prefault({}),
  })
  .readonly()
  .prefault({})

export type OperationsSettings = z.output<typeof operations>
