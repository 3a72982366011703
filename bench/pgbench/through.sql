\set new random(1, :new_every)
\if :new = 1
\set sender random(1000000, 9999999)
\else
\set sender random(0, :known - 1)
\endif
\set message random(1, 1000000000000000)
INSERT INTO webhook_events_log (id, provider, organization_id, channel_session_id, headers, raw_body)
VALUES (gen_random_uuid(), 'zernio', :org::uuid, :session::uuid, '{"host": "127.0.0.1", "content-length": "1024", "content-type": "application/json", "user-agent": "Zernio-Webhooks/1.0", "x-zernio-event": "message.received", "x-zernio-event-id": "01bc5551-0593-5d46-a5d8-1224b4c7b10b", "x-zernio-signature": "91e6f19fcf34835087031c375b1d7e922754a0e370885671918bca553445404f"}'::jsonb, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'::bytea)
RETURNING id \gset
UPDATE webhook_events_log SET valid_signature = true WHERE id = :id::uuid AND status = 'received';
SELECT message_id FROM fn_ingest_message(
    :id::uuid, 0, NULL, :org::uuid, :session::uuid,
    jsonb_build_object(
        'id', gen_random_uuid(), 'direction', 'inbound', 'external_id', 'wamid.' || :message::bigint,
        'provider_conversation_id', 'thread-' || lpad(:sender::text, 7, '0'), 'type', 'text', 'body', repeat('x', 400),
        'preview', repeat('x', 160), 'attachments', '[]'::jsonb, 'metadata', '{}'::jsonb,
        'sent_at', clock_timestamp(), 'phone', '+55119' || lpad((:sender::bigint * 61803399 % 100000000)::text, 8, '0'),
        'phone_spellings', jsonb_build_array('+55119' || lpad((:sender::bigint * 61803399 % 100000000)::text, 8, '0'), '+5511' || lpad((:sender::bigint * 61803399 % 100000000)::text, 8, '0')),
        'identities', '[]'::jsonb, 'name', 'Cliente Exemplo'
    )
) \gset
SELECT fn_message_effects(:id::uuid, 0, NULL, :org::uuid, :message_id::uuid, true, 'processed', NULL, 'whatsapp');
