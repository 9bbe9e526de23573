/** The nouns that screens show, fields exactly as in the server's JSON. */
export type { Host, PairedDevice, Prompt, Session, SessionState, SessionStatus, StatusKind } from '@/wire'
export { sessionKey } from '@/wire'
export { ApiError } from '@/api'
export type {
  AuditFilter,
  AuditLine,
  AuditPage,
  Code,
  CodeKind,
  CodeState,
  Device,
  Found,
  GuestLink,
  Match,
  NewToken,
  StartOptions,
  Stop,
  Token,
  TokenOptions,
} from '@/api'
export type { Attachment, AttachmentState, LinkStatus, PendingInput, ReturnReason } from '@/link'
