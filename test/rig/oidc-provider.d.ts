declare module 'oidc-provider' {
  import type { Server } from 'node:http'

  /** The part that the tests use. */
  export const Provider: new (
    issuer: string,
    configuration: object,
  ) => { listen(port: number, host: string, listening: () => void): Server }
}
