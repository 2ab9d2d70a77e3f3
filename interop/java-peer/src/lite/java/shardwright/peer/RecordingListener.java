package shardwright.peer;

import org.apache.shardingsphere.elasticjob.infra.listener.ShardingContexts;
import org.apache.shardingsphere.elasticjob.lite.api.listener.AbstractDistributeOnceElasticJobListener;

/** Tells when all shards of a fire have begun, and when all have ended. ElasticJob makes it, by its type. */
public final class RecordingListener extends AbstractDistributeOnceElasticJobListener {

    static final String TYPE = "RECORDING";

    private static final long PATIENCE = 20_000;

    /** Where to tell it; nobody can hand it over, as nobody here makes the listener. */
    static volatile Events events;

    public RecordingListener() {
        super(PATIENCE, PATIENCE);
    }

    @Override
    public void doBeforeJobExecutedAtLastStarted(final ShardingContexts fire) {
        events.add("all started");
    }

    @Override
    public void doAfterJobExecutedAtLastCompleted(final ShardingContexts fire) {
        events.add("all completed");
    }

    @Override
    public String getType() {
        return TYPE;
    }
}
