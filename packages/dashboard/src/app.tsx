/**
 * The whole application: what surrounds every page, and which page a URL shows. Pages are loaded when they are
 * opened.
 */
import { Box, Center, MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { Suspense, useState } from 'react';
import { Redirect, Route, Switch, useLocation } from 'wouter';
import { createQueryClient } from './api/query-client.ts';
import { ErrorBoundary } from './components/error-boundary.tsx';
import { lazyPage } from './components/load-page.ts';
import { PageHeader } from './components/page-header.tsx';
import { ErrorState, LoadingState } from './components/states.tsx';
import { AccountShell } from './layout/account-shell.tsx';
import { pageFacts } from './page-facts.ts';
import { NotFoundPage } from './pages/not-found.tsx';
import { DeletionProvider } from './pages/storage/deletion-provider.tsx';
import { SessionProvider, useSessionQuery } from './session/session.tsx';
import { SignInPage } from './session/sign-in.tsx';
import { texts } from './texts/common.ts';
import { resolveVariables, theme } from './theme.ts';

const OverviewPage = lazyPage(() => import('./pages/overview/overview-page.tsx'));
const ModelsPage = lazyPage(() => import('./pages/models/models-page.tsx'));
const ModelPage = lazyPage(() => import('./pages/models/model-page.tsx'));
const PlaygroundPage = lazyPage(() => import('./pages/playground/playground-page.tsx'));
const TasksPage = lazyPage(() => import('./pages/tasks/tasks-page.tsx'));
const TaskPage = lazyPage(() => import('./pages/tasks/task-page.tsx'));
const StoragePage = lazyPage(() => import('./pages/storage/storage-page.tsx'));
const KeysPage = lazyPage(() => import('./pages/keys/keys-page.tsx'));
const WebhooksPage = lazyPage(() => import('./pages/webhooks/webhooks-page.tsx'));
const UsagePage = lazyPage(() => import('./pages/usage/usage-page.tsx'));
const AdminApp = lazyPage(() => import('./pages/admin/admin-app.tsx'));

export function App() {
  const [queryClient] = useState(createQueryClient);
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={resolveVariables}
      defaultColorScheme="auto"
      getStyleNonce={() => pageFacts.nonce}
    >
      <QueryClientProvider client={queryClient}>
        <Notifications position="bottom-right" />
        <ErrorBoundary>
          <Suspense fallback={<LoadingState />}>
            {pageFacts.listener === 'admin' ? <AdminApp /> : <AccountApp />}
          </Suspense>
        </ErrorBoundary>
      </QueryClientProvider>
    </MantineProvider>
  );
}

function AccountApp() {
  const [at] = useLocation();
  const { data: session, lastError, refetch } = useSessionQuery();
  if (session === undefined && lastError !== null) {
    return (
      <Center mih="100dvh" p="md" component="main">
        <Box w="100%" maw="36rem">
          <PageHeader title={texts.product} />
          <ErrorState error={lastError} onRetry={() => void refetch()} />
        </Box>
      </Center>
    );
  }
  if (session === undefined) return <LoadingState />;
  if (session === null) return <SignInPage />;
  return (
    <SessionProvider key={session.keyId} session={session}>
      <DeletionProvider>
        <AccountShell>
          <ErrorBoundary at={at}>
            <Suspense fallback={<LoadingState />}>
              <Switch>
                <Route path="/" component={OverviewPage} />
                <Route path="/sign-in">
                  <Redirect to="/" replace />
                </Route>
                <Route path="/models" component={ModelsPage} />
                <Route path="/models/*">{({ '*': name }) => <ModelPage name={name} />}</Route>
                <Route path="/playground">
                  <PlaygroundPage />
                </Route>
                <Route path="/playground/*">{({ '*': name }) => <PlaygroundPage model={name} />}</Route>
                <Route path="/tasks" component={TasksPage} />
                <Route path="/tasks/:taskId">{({ taskId }) => <TaskPage taskId={taskId} />}</Route>
                <Route path="/storage" component={StoragePage} />
                <Route path="/keys" component={KeysPage} />
                <Route path="/webhooks" component={WebhooksPage} />
                <Route path="/usage" component={UsagePage} />
                <Route component={NotFoundPage} />
              </Switch>
            </Suspense>
          </ErrorBoundary>
        </AccountShell>
      </DeletionProvider>
    </SessionProvider>
  );
}
