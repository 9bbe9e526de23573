/** The HTTP API as functions. Everything here is one request; src/stores call it, nothing else does. */
export {
  access,
  codeState,
  createCode,
  listDevices,
  redeemCode,
  redeemTicket,
  removeHost,
  revokeDevice,
  signOut,
  type Access,
  type Code,
  type CodeKind,
  type CodeState,
  type Device,
} from './access'
export { ApiError } from './errors'
export { loadProof, saveProof } from './proof'
export {
  forgetSession,
  renameSession,
  sessionText,
  startSession,
  stopSession,
  type StartOptions,
  type Stop,
} from './sessions'
