/** Sends a callback of a fictitious task, and shows the result. */
import { Alert, Group, Stack, Text, TextInput } from '@mantine/core';
import { IconAlertTriangle, IconCheck, IconSend } from '@tabler/icons-react';
import { useState } from 'react';
import { useTestDelivery } from '../../api/webhooks.ts';
import type { TestDelivery } from '../../api/webhooks.ts';
import { BusyButton } from '../../components/busy-button.tsx';
import { formatMilliseconds } from '../../components/quantities.ts';
import { ErrorState } from '../../components/states.tsx';
import { texts } from '../../texts/webhooks.ts';
import { Section } from '../tasks/section.tsx';

export function TestDeliverySection() {
  const [url, setUrl] = useState('');
  const [isTried, setTried] = useState(false);
  const test = useTestDelivery();
  // The service validates the URL further.
  const error = URL.canParse(url.trim()) ? undefined : texts.test.needsUrl;
  const submit = (): void => {
    setTried(true);
    if (error === undefined) test.mutate(url.trim());
  };
  return (
    <Section title={texts.test.title}>
      <Stack>
        <Text size="sm">{texts.test.about}</Text>
        <form
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            submit();
          }}
        >
          <Group align="flex-start" gap="xs">
            <TextInput
              type="url"
              label={texts.test.url}
              placeholder={texts.test.urlPlaceholder}
              value={url}
              onChange={({ currentTarget }) => {
                setUrl(currentTarget.value);
                // The result of another URL does not apply to this one.
                if (!test.isPending) test.reset();
              }}
              error={isTried ? error : undefined}
              maxLength={2048}
              autoComplete="url"
              flex="1 1 16rem"
            />
            <BusyButton type="submit" mt={24} leftSection={<IconSend size={16} aria-hidden />} isBusy={test.isPending}>
              {texts.test.send}
            </BusyButton>
          </Group>
        </form>
        <div aria-live="polite">
          {test.error === null ? null : <ErrorState error={test.error} />}
          {test.data === undefined ? null : <Outcome result={test.data} />}
        </div>
      </Stack>
    </Section>
  );
}

function Outcome({ result }: { readonly result: TestDelivery }) {
  const { delivered, durationMs, signed } = result;
  const took = formatMilliseconds(durationMs);
  return (
    <Alert
      color={delivered ? 'teal' : 'red'}
      icon={delivered ? <IconCheck aria-hidden /> : <IconAlertTriangle aria-hidden />}
      title={`${delivered ? texts.test.delivered : texts.test.failed}: ${texts.test.outcome(result, took)}`}
    >
      <Text size="sm">
        {delivered ? null : `${texts.test.advice(result)} `}
        {signed ? texts.test.signed : texts.test.unsigned}
      </Text>
    </Alert>
  );
}
