/// <reference types="vite/client" />

/** The commit of this build, written by vite.config.ts. */
declare const __COMMIT__: string
