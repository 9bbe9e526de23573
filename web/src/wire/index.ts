/**
 * The TypeScript codec of internal/wire's viewer dialect. It turns bytes into frames and frames into bytes, checks
 * everything that comes from outside, and keeps no state. It knows neither Vue nor sockets. src/link calls it.
 */
export * from './bytes'
export * from './codec'
export * from './device'
export * from './frames'
export * from './json'
export * from './limits'
export * from './page'
export * from './pairing'
export * from './session'
