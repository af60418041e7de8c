/** The state of the service: its models, backlogs, upstreams and repairs, and a search for a task. */
import { Button, Group, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { FormEvent } from 'react';
import { useLocation } from 'wouter';
import { PageHeader } from '../../components/page-header.tsx';
import { texts } from '../../texts/admin-service.ts';
import { Section } from '../tasks/section.tsx';
import { CatalogueSection } from './catalogue-section.tsx';
import { MarginsSection } from './margins-section.tsx';
import { ProvidersSection } from './providers-section.tsx';
import { QueuesSection } from './queues-section.tsx';
import { RepairsSection } from './repairs-section.tsx';
import { UpstreamsSection } from './upstreams-section.tsx';

const { service: words } = texts;
/** `tk-svc-` and 26 characters of Crockford's base32: the contract's form. */
const TASK_ID = /^tk-svc-[0-9A-HJKMNP-TV-Z]{26}$/;

export default function ServicePage() {
  return (
    <>
      <PageHeader title={words.title}>
        {words.about} {words.refresh}
      </PageHeader>
      <Stack gap="md">
        <FindTask />
        <CatalogueSection />
        <ProvidersSection />
        <UpstreamsSection />
        <QueuesSection />
        <RepairsSection />
        <MarginsSection />
      </Stack>
    </>
  );
}

function FindTask() {
  const [, navigate] = useLocation();
  const [typed, setTyped] = useState('');
  const [isTried, setTried] = useState(false);
  const id = typed.trim();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setTried(true);
    if (TASK_ID.test(id)) navigate(`/service/tasks/${id}`);
  };
  return (
    <Section title={words.find}>
      <form onSubmit={submit} noValidate>
        <Group align="flex-start" gap="sm">
          <TextInput
            aria-label={words.find}
            description={words.findHint}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            placeholder={words.findPlaceholder}
            value={typed}
            onChange={({ currentTarget }) => setTyped(currentTarget.value)}
            error={isTried && id !== '' && !TASK_ID.test(id) ? words.badTaskId : undefined}
            spellCheck={false}
            flex="1 1 18rem"
            maw="32rem"
          />
          <Button type="submit" variant="default">
            {words.open}
          </Button>
        </Group>
      </form>
    </Section>
  );
}
