declare module 'oidc-provider' {
  /** The part that the tests use. */
  export const Provider: new (
    issuer: string,
    configuration: object,
  ) => { listen(port: number, host: string, listening: () => void): void }
}
