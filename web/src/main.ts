import './trustedTypes'
import './composables/useInstall'
import { createPinia } from 'pinia'
import { createApp } from 'vue'
import App from './App.vue'
import { router } from './router'
import './styles/tokens.css'
import './styles/reset.css'
import './styles/base.css'

// Gone from every other build: the condition is a constant there.
if (import.meta.env.MODE === 'mock') (await import('../mock')).installMock()

createApp(App).use(createPinia()).use(router).mount('#app')
