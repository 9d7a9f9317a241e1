#!/usr/bin/env escript
%% Prints the messages that Ra itself finds in folders of its files, for each log that it would use.
%% This changes the folders, as a start of a node does.
%%
%%   ra_contents.escript PLUGINS FOLDER...    log FOLDER GROUP Messages..., failed FOLDER Reason
-mode(compile).

main([Plugins | Folders]) ->
    code:add_pathsa(filelib:wildcard(Plugins ++ "/*/ebin")),
    logger:set_primary_config(level, emergency),
    application:set_env(ra, data_dir, "/nonexistent"),
    [told(number(N), Folder) || {N, Folder} <- lists:enumerate(Folders)].

number(N) -> list_to_atom("contents" ++ integer_to_list(N)).

told(System, Folder) ->
    case catch contents(System, Folder) of
        ok -> ok;
        Reason -> io:format("failed ~s ~0tp~n", [Folder, Reason])
    end.

contents(System, Folder) ->
    {ok, _} = application:ensure_all_started(gen_batch_server),
    {ok, _} = application:ensure_all_started(aten),
    {ok, _} = application:ensure_all_started(ra),
    Names = ra_system:derive_names(System),
    Config = (ra_system:default_config())#{
        name => System, data_dir => Folder, wal_data_dir => Folder, names => Names
    },
    {ok, _} = ra_system:start(Config),
    [
        log(Config, Names, Folder, filename:basename(filename:dirname(File)))
     || File <- filelib:wildcard(Folder ++ "/*/config")
    ],
    ok.

log(System, Names, Folder, UId) ->
    {ok, [Said]} = file:consult(Folder ++ "/" ++ UId ++ "/config"),
    #{id := {Group, _}} = Said,
    case ra_directory:uid_of(Names, Group) =:= list_to_binary(UId) of
        false ->
            ok;
        true ->
            Arguments = #{uid => list_to_binary(UId), system_config => System},
            _ = code:ensure_loaded(ra_log),
            Found = entries(ra_release(), Arguments),
            io:format("log ~s ~ts ~s~n", [Folder, Group, lists:join(" ", messages(Found))])
    end.

%% Ra's functions have changed twice: 2.0 of RabbitMQ 3.10, 2.14 of 4.0, and 3.1 of 4.3.
ra_release() ->
    Has = fun(Name, Arity) -> erlang:function_exported(ra_log, Name, Arity) end,
    case {Has(take, 3), Has(pre_init, 1)} of
        {true, _} -> takes;
        {false, true} -> folds;
        {false, false} -> keeps_live
    end.

entries(keeps_live, #{uid := UId} = Arguments) ->
    ok = ra_log:pre_init(undefined, Arguments),
    Log = ra_log:init(Arguments),
    Live = ra_seq:expand(ra_log_snapshot_state:live_indexes(ra_log_snapshot_state, UId)),
    {Before, _} = ra_log:sparse_read(Live, Log),
    case ra_log:overview(Log) of
        #{range := {First, Last}} ->
            {Found, _} = ra_log:fold(fun(Entry, All) -> [Entry | All] end, First, Last, [], Log),
            Before ++ Found;
        _ ->
            Before
    end;
entries(Release, Arguments) ->
    ok = ra_log:pre_init(Arguments),
    Log = ra_log:init(Arguments),
    {Last, _} = ra_log:last_index_term(Log),
    First = maps:get(first_index, ra_log:overview(Log)),
    case Release of
        takes ->
            {Found, _, _} = ra_log:take(First, Last - First + 1, Log),
            Found;
        folds ->
            {Found, _} = ra_log:fold(First, Last, fun(Entry, All) -> [Entry | All] end, [], Log),
            Found
    end.

messages(Entries) ->
    lists:append([
        case re:run(term_to_binary(Entry), "m-[-0-9a-z]+:[0-9]+;", [global, {capture, first, list}]) of
            {match, Found} -> lists:append(Found);
            nomatch -> []
        end
     || Entry <- Entries
    ]).
