/** What is used of uWebSockets.js; its own typings do not match its binary. */
export interface UwsApp {
  any(pattern: string, handler: (response: UwsResponse, request: UwsRequest) => void): UwsApp
  listen(host: string, port: number, opened: (socket: UwsSocket | false) => void): UwsApp
  listen_unix(opened: (socket: UwsSocket | false) => void, path: string): UwsApp
  close(): UwsApp
}

export type UwsSocket = Parameters<typeof import('uWebSockets.js').us_listen_socket_close>[0]

/** Lives until the callback that it is handed to returns. */
export interface UwsRequest {
  getUrl(): string
  getCaseSensitiveMethod(): string
  /** Empty where there is none. */
  getHeader(name: string): string
  forEach(see: (name: string, value: string) => void): void
}

/** Lives until it is ended or aborted; touched after that it ends the process. */
export interface UwsResponse {
  writeStatus(status: string): UwsResponse
  writeHeader(name: string, value: string): UwsResponse
  end(body: string, closeConnection: boolean): UwsResponse
  close(): UwsResponse
  cork(write: () => void): UwsResponse
  onAborted(handler: () => void): UwsResponse
  onData(handler: (piece: ArrayBuffer, isLast: boolean) => void): UwsResponse
  getRemoteAddress(): ArrayBuffer
  getRemoteAddressAsText(): ArrayBuffer
}
