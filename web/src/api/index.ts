/** The HTTP API as functions. Everything here is one request; src/stores call it, nothing else does. */
export { access, redeemCode, redeemTicket, signOut } from './access'
export { ApiError } from './errors'
export { loadProof, saveProof } from './proof'
export {
  forgetSession,
  renameSession,
  startSession,
  stopSession,
  type StartOptions,
  type Stop,
} from './sessions'
