/** The used part of uWebSockets.js; its own typings do not match its binary. */
export interface UwsApp {
  any(pattern: string, handler: (response: UwsResponse, request: UwsRequest) => void): UwsApp
  /** Called with 1 for each new connection, with -1 for each that has ended. */
  filter(see: (response: UwsResponse, change: number) => void): UwsApp
  listen(host: string, port: number, opened: (socket: UwsSocket | false) => void): UwsApp
  listen_unix(opened: (socket: UwsSocket | false) => void, path: string): UwsApp
  close(): UwsApp
}

export type UwsSocket = Parameters<typeof import('uWebSockets.js').us_listen_socket_close>[0]

/** Valid only until the callback returns. */
export interface UwsRequest {
  getUrl(): string
  /** Without the question mark; empty if there is none. */
  getQuery(): string
  getCaseSensitiveMethod(): string
  /** Empty if the field is missing. */
  getHeader(name: string): string
  forEach(see: (name: string, value: string) => void): void
}

/** Valid until it is ended or aborted; using it afterwards crashes the process. */
export interface UwsResponse {
  writeStatus(status: string): UwsResponse
  writeHeader(name: string, value: string): UwsResponse
  end(body: string | Buffer, closeConnection: boolean): UwsResponse
  /** Crashes the process if it is given `undefined`. */
  endWithoutBody(): UwsResponse
  /** Writes a piece of a chunked body; false if the connection did not take all of it at once. */
  write(piece: string | Buffer): boolean
  /** Called when the connection has taken what was left of it. */
  onWritable(handler: () => boolean): UwsResponse
  close(): UwsResponse
  cork(write: () => void): UwsResponse
  onAborted(handler: () => void): UwsResponse
  onData(handler: (piece: ArrayBuffer, isLast: boolean) => void): UwsResponse
  getRemoteAddress(): ArrayBuffer
  getRemoteAddressAsText(): ArrayBuffer
}
