/**
 * The frames that a viewer sends and receives: the viewer dialect of internal/wire, whose package comment is the
 * specification. Numbers are safe integers; a nonce keeps its 64 bits; a client id is 32 hexadecimal digits.
 */

/** How much of a session's stream has been taken in. */
export interface Position {
  offset: number
  marks: number
}

export const inputKind = { bytes: 0, keys: 1, paste: 2, submit: 3 } as const
export type InputKind = (typeof inputKind)[keyof typeof inputKind]

export const inputStatus = {
  applied: 0,
  gap: 1,
  unknownClient: 2,
  late: 3,
  retired: 4,
  blocked: 5,
  ended: 6,
  hostOffline: 7,
  forbidden: 8,
  invalid: 9,
} as const

export const claimReason = { fit: 0, typing: 1, attach: 2, resize: 3 } as const
export type ClaimReason = (typeof claimReason)[keyof typeof claimReason]

export const ownerKind = { none: 0, viewer: 1, local: 2 } as const

/** Events the server tells a viewer of. */
export type ViewerEvent =
  | { kind: 'snapshot'; body: unknown }
  | { kind: 'host'; body: unknown }
  | { kind: 'host_removed'; body: unknown }
  | { kind: 'session'; body: unknown }
  | { kind: 'session_removed'; body: unknown }
  | { kind: 'device'; body: unknown }
  | { kind: 'pairing'; body: unknown }
  | { kind: 'pairing_removed'; body: unknown }

export type Frame =
  // JSON bodies
  | { type: 'viewer_hello'; version: string; proof: string; visible: boolean }
  | { type: 'viewer_welcome'; version: string; instance: string; device: string; scopes: string[] }
  | {
      type: 'attach'
      handle: number
      host: string
      session: string
      from: Position | null
      client: string
      visible: boolean
    }
  | {
      type: 'attached'
      handle: number
      mode: 'delta' | 'repaint'
      cols: number
      rows: number
      prompt: string
    }
  | { type: 'event'; kind: string; body: unknown }
  | { type: 'page'; handle: number; request: number; before: number; max: number }
  | { type: 'page_reply'; handle: number; request: number; body: unknown; error: string }
  | { type: 'restarting'; afterMs: number }
  | { type: 'problem'; handle: number; code: string; message: string }
  // binary bodies
  | { type: 'detach'; handle: number }
  | { type: 'live'; handle: number; position: Position }
  | { type: 'output'; handle: number; offset: number; data: Uint8Array }
  | { type: 'ack'; handle: number; offset: number }
  | { type: 'resize'; handle: number; offset: number; ordinal: number; cols: number; rows: number }
  | { type: 'gap'; handle: number; offset: number; lost: number }
  | { type: 'reset'; handle: number; offset: number; ordinal: number }
  | { type: 'exit'; handle: number; offset: number; code: number; signal: string }
  | { type: 'repaint'; handle: number; position: Position; cols: number; rows: number; data: Uint8Array }
  | {
      type: 'input'
      handle: number
      client: string
      seq: number
      kind: number
      age: number
      sent: number
      data: Uint8Array
    }
  | { type: 'input_ack'; handle: number; client: string; seq: number; status: number }
  | { type: 'retire'; handle: number; client: string }
  | { type: 'claim_size'; handle: number; client: string; reason: number; cols: number; rows: number }
  | { type: 'release_size'; handle: number; client: string }
  | { type: 'size_owner'; handle: number; client: string; kind: number; cols: number; rows: number }
  | { type: 'presence'; handle: number; client: string; visible: boolean; focused: boolean }
  | { type: 'ping'; nonce: bigint; sent: number }
  | { type: 'pong'; nonce: bigint; sent: number }
  /** A frame of a type that this version does not know, or that no viewer receives. It is ignored. */
  | { type: 'unknown'; number: number }

export type FrameType = Frame['type']
export type FrameOf<T extends FrameType> = Extract<Frame, { type: T }>
