import { createRouter, createWebHistory } from 'vue-router'
import HomeScreen from './shell/HomeScreen.vue'

declare module 'vue-router' {
  interface RouteMeta {
    /** The tab that is current on this screen; screens without one hide the tab bar. */
    tab?: 'sessions' | 'hosts' | 'settings'
    title?: string
  }
}

export const router = createRouter({
  history: createWebHistory(),
  routes: [
    { path: '/', name: 'sessions', component: HomeScreen, meta: { tab: 'sessions', title: 'Sessions' } },
    {
      path: '/s/:host/:session',
      name: 'session',
      // The terminal and its code load only when a session is opened.
      component: () => import('./features/terminal/SessionScreen.vue'),
      props: true,
    },
    {
      path: '/hosts',
      name: 'hosts',
      component: () => import('./features/hosts/HostsScreen.vue'),
      meta: { tab: 'hosts', title: 'Hosts' },
    },
    {
      path: '/settings',
      name: 'settings',
      component: () => import('./features/settings/SettingsScreen.vue'),
      meta: { tab: 'settings', title: 'Settings' },
    },
    {
      path: '/settings/devices',
      name: 'devices',
      component: () => import('./features/settings/DevicesScreen.vue'),
      meta: { tab: 'settings', title: 'Devices & security' },
    },
    {
      path: '/settings/audit',
      name: 'audit',
      component: () => import('./features/audit/AuditScreen.vue'),
      meta: { tab: 'settings', title: 'Audit' },
    },
    {
      path: '/welcome',
      name: 'welcome',
      component: () => import('./features/onboarding/WelcomeScreen.vue'),
      meta: { title: 'Pair this device' },
    },
    {
      // A guest's link: it is told apart from one's own before it is redeemed.
      path: '/watch',
      name: 'watch',
      component: () => import('./features/onboarding/WelcomeScreen.vue'),
      meta: { title: 'Watch a session' },
    },
    { path: '/:unknown(.*)*', redirect: '/' },
  ],
})

router.afterEach((to) => {
  if (to.meta.title) document.title = `${to.meta.title} · agent-helm`
})
