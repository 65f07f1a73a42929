"""English: stop words, and common words by how much they say about a page's subject."""

from __future__ import annotations

from typing import Final

STOP_WORDS: Final = """
    a about above after again against all also although am among an and any anybody anyone
    anything are aren as at be became because been before being below between both but by can
    cannot could couldn did didn do does doesn doing don done down during each either else etc
    ever every for from further had hadn has hasn have haven having he her here hers herself him
    himself his how however i if in into is isn it its itself just let ll may me might more most
    much must mustn my myself need neither no nor not now of off on once one only onto or other
    others ought our ours ourselves out over own per please quite rather re s same shall shan
    she should shouldn since so some somebody someone something still such t than that the their
    theirs them themselves then there therefore these they this those though through thus to
    together too toward towards under until up upon us use used uses using ve very via was wasn
    we were weren what whatever when whenever where whereas wherever whether which while who
    whoever whole whom whose why will with within without won would wouldn yes yet you your
    yours yourself yourselves
"""
"""Say nothing about the subject; never indexed, never asked for."""

VERY_COMMON: Final = """
    able accord act action actually add age ago agree air allow almost alone along already
    always american amount answer appear area around arrive ask attack available average away
    back bad base basic beautiful become began begin begun behind believe benefit best better
    big bit black blue board body book born bring british brought build built business buy call
    came capital car care carry case cause center central century certain chance change child
    children choose city claim class clear close cold color come command common community
    company compare complete concern condition consider contain continue control cost country
    course cover create current cut daily damage data date daughter day dead deal death decade
    decide decision deep degree department describe design detail develop die differ difficult
    direct director discover discuss distance district divide door draw drive drop due early
    earth easily east eastern easy economic economy education effect effort eight employ end
    energy english enough enter entire environment equal especially establish european even
    evening event eventually everyone everything evidence exact example exist expect experience
    explain express extend extra eye face fact factor fail fall family famous far fast father
    feature feel feet fell felt few field fight figure fill final find finish fire first five
    floor follow food foot force foreign form former forward found four free friend front full
    function future gain game gave general german get girl give given go goal god gone good got
    govern great green grew ground group grow growth half hand happen hard head health hear
    heard heart heat heavy held help high hill history hit hold home hope hot hotel hour house
    huge human hundred husband idea identify image immediately importance improve include income
    increase indeed independent individual industry influence inform initial inside instead
    institution interest international introduce invent involve island issue item job join judge
    jump kept key kill kind king kingdom knew know knowledge known lack land language large last
    late later latter law lay lead leader learn least leave led left length less letter level
    lie life light like limit line list listen little live local locate london long look lord
    lose loss lost lot love low lower machine made main maintain major make man manage many map
    mark market mass material matter meaning meant measure meet member memory men mention met
    method middle mile military million mind minute miss model modern moment money month moon
    morning mostly mother mountain move movement music name nation natural near necessary never
    new news next night nine none north northern note nothing notice number object obtain occur
    offer office official often oil old open operate opinion opportunity oppose opposite order
    organization origin outside page paint pair paper parent park part particular partner party
    pass past patient pay peace people percent perform perhaps period permit person phone
    picture piece place plan plant play player point police policy political poor popular
    population position possible post power practice prepare present president press pressure
    prevent previous price primary prior private probably problem process produce product
    program progress project promise property protect prove provide province public publish pull
    purpose push put quality question quick race radio rain raise range rapid rate reach read
    ready real realize really reason receive recent recognize record red reduce refer reflect
    region regular relate relationship release religion religious remain remember remove repeat
    replace report represent require research respond response rest result return reveal rich
    right rise river road rock role room round row royal rule run safe said sat saw say scale
    school science scientist sea season seat second section security see seek seem seen select
    sell send sense sent separate series serious serve service set seven several share ship
    short shot show shown side sign significant similar simple simply sing single sister sit
    site situation six size skill skin sleep slow slowly small social society soldier solution
    solve sometimes son song soon sort sound source south southern space speak special specific
    speech speed spend spent spoke spring square staff stage stand standard star start state
    statement station stay step stone stood stop store story street strong structure student
    study style subject success suddenly suffer suggest summer sun supply support suppose sure
    surface surround survive system table take taken talk task taught teach teacher team
    technology tell ten tend term territory test text thank theory thing think third thought
    thousand threat three throw time title today told tomorrow took top total touch town trade
    tradition train travel treat treatment tree tried trouble true truth turn twelve twenty
    twice two type typical ultimately understand understood unit university unknown upper usual
    valley value variety various vary version view village visit voice volume vote wait walk
    wall want war warm wash watch water wave way weapon wear weather week weight well went west
    western white wide wife win wind window winter wish woman women wonder wood word work worker
    world worse worth write written wrong wrote yard year yesterday york young youth zero
"""
"""On a large share of all pages: a match says little. One form per stem."""

COMMON: Final = """
    abandon ability abroad absence absolute abstract academic accept access accident accompany
    account accurate achieve acid acquire active actor adapt addition address adjust
    administration adopt adult advance advantage adventure advice affair affect afraid african
    afternoon agency agent aggressive agreement agriculture aid aim aircraft airport album
    alcohol alive allies alternative amateur amazing ambition analysis analyze ancient angle
    angry animal announce annual anxiety apart apparent appeal application apply appoint
    approach appropriate approve approximately april architect architecture argue argument arise
    arm army arrange array arrest arrow art article artificial artist asia asian aside aspect
    assembly assert assess assign assist associate assume atlantic atmosphere atom attach
    attempt attend attention attitude attract audience august aunt author automatic award aware
    baby background balance ball band bank bar barely barrier baseball basis basket battle bay
    beach bear beat bed bedroom behavior belief bell belong belt bend beneath besides bill bind
    biology bird birth bishop blame blind block blood blow boat bomb bond bone border boss
    bottle bottom bound boundary bowl box boy brain branch brand brave bread break breath bridge
    brief bright britain broad broadcast broken brother brown browser budget buffer bug burn bus
    bush button bytes calculate california camera camp campaign canada canal cancel cancer
    candidate capable capacity captain capture carbon card career cat catch category cathedral
    catholic cell chain chair challenge champion championship channel chapter character
    characteristic charge charles chart check chemical chemistry chief china chinese choice
    chose chosen christian church circle circuit circumstance citizen civil clean cleanup click
    client climate climb clinical clock cloth cloud club coach coal coast code coffee collapse
    collect college colonial column combination comfort comment commercial commission commit
    committee communication comparison compete competition complain complex component compose
    composition compound comprise compute concentrate concept concert conclude conclusion
    conduct conference confidence configure confirm conflict confuse congress connect conscious
    consequence conservative considerable consist constant constitute construct consume contact
    contemporary content contest context continent contract contrast contribute convention
    conversion convert convince cook cool copy core corner corporation correct correspond
    council count counter county couple courage court cousin craft crash creation creature
    credit crew crime criminal crisis criteria critic crop cross crowd crown crucial cry
    cultural cup curious currency curve custom cycle dance danger dark database deaf dear debate
    debt december deck declare decline decrease dedicate default defeat defend defense define
    definition degrade delay delete deliver demand democracy democratic demonstrate density deny
    depend deploy depress depth derive descend desert deserve desire despite destroy destruction
    detect determine device devote diagnosis dialog dictionary diet digital dimension dinner
    directory disappear discipline discovery disease dish dismiss display dispute distinct
    distinguish distribute divine division doctor document dog dollar domain domestic dominant
    double doubt dozen draft drama dramatic dream dress drink driver drug dry duke duration dust
    dutch duty dynamic eager ear earn ease eat ecology edge edit editor efficient egg elect
    electric electron element eleven eliminate elsewhere emerge emergency emotion emperor
    emphasis emphasize empire employee empty enable encode encounter encourage enemy engage
    engine england enhance enjoy enormous ensure enterprise entertain entity entrance entry
    episode equation equipment equivalent era error escape essay essential estate estimate
    ethnic europe evaluate everybody evil evolution evolve examine excellent except exchange
    excite exclude executive exercise exhibit exit expand expansion expense expert explore
    explosion export expose exposure extension extent external extract extraordinary extreme
    facility faculty failure fair faith false fame familiar fan fantasy farm farmer fashion fat
    fate fault favor favorite fear february federal fee feed feedback female fence festival
    fiction fifteen fifth fifty file film filter finance financial fine finger firm fish fit fix
    flag flat fleet flight float flow flower fly focus folder folk font football forbid forest
    forever forget formal formation formula fort forth fortune forty foundation founder fourth
    fraction frame framework france french frequency frequent fresh fruit fuel fully fun fund
    fundamental furthermore gallery gap garden gas gate gather gay gender gene generate genetic
    gentle george germany giant gift glad glass global gold golden grade gradually graduate
    grain grand grandfather grant graph grass gray greater greek gross guarantee guard guess
    guest guide guilty guitar gulf gun guy habit hair hall handle handler hang happy harbor
    hardware harm hat hate headquarter healthy height hell hence henry heritage hero hide
    highway historian historic holder hole holiday holy honor horizontal horror horse hospital
    host hostile household html hungry hunt hurt hypothesis ice icon ideal identical ignore ill
    illegal illustrate imagine immigrant immune impact imperial implement imply impose
    impossible impress inch incident inclusion incorporate incorrect index india indian indicate
    indirect inevitable infect inherit inhibit injury inner innocent innovation input inquiry
    insist inspire install instance instant instruction instrument insurance integer integrate
    intellectual intelligence intend intense intention interact interface interior intermediate
    internal internet interpret interrupt interval interview introduction invade invasion invest
    investigate invite invoke irish iron isolate italian italy iterate jack james january japan
    japanese jewish john joint journal journalist journey joy judgment july june junior jury
    justice justify keyboard kick kid kiss kitchen knee knife knock label labor laboratory lady
    lake lane laser latin laugh launch lawyer layer layout lazy leadership leaf league lean leap
    lecture leg legacy legal legend legislation lesson liberal liberty library license lift
    linear link lip liquid literally literary literature load loan lock log logic lonely loop
    loose loud luck lunch lung magazine magic magnetic mail maintenance male mall manner manual
    manufacture manuscript march margin marine marriage marry martin mary massive master match
    mate mathematical mature maximum maybe mayor meal meanwhile meat mechanical media medical
    medicine medieval medium melt membership mental merchant mere merge message metal meter
    metropolitan mexican mexico michael microsoft midnight migrate mild mine mineral minimal
    minimum minister ministry minor mirror mission mistake mix mixture mobile mode moderate
    modify module molecule monitor monster moral moreover mortality motion motivate motor mount
    mouse mouth movie multiple multiply murder muscle museum musician mutual mystery myth
    narrative narrow native naval navy nearby neat neck negative neighbor neighborhood nerve
    nervous net network neutral nevertheless newly newspaper nobody node noise nominate norm
    normal northeast northwest nose notable noun novel november nowhere nuclear numerous nurse
    obey obligation observation obvious occasion occasionally occupation occupy ocean october
    odd offense ongoing online opera opponent optical option oral organ organic orient otherwise
    outcome outer output outstanding overall overcome overview owe owner oxford pacific pack
    package painter palace panel paragraph parallel parameter paris parliament parse parser
    partial participant passage passenger passion passive password patch path patience pattern
    pause payment peak peer peninsula perceive percentage perfect permanent permission
    perspective phase phenomenon philosopher philosophy photo photograph phrase physical
    physician pick pilot pink pipe pitch plane planet plastic plate platform pleasant pleasure
    plenty plot plugin plus poem poet poetry pole polish politician pollution pool pope port
    portion portrait portuguese possess pot potential pour poverty precise predict prefer
    presence preserve presidential presumably pretty prevail pride priest primarily prime prince
    princess principal principle print priority prison privilege prize procedure proceed
    professional professor profile profit programme prominent promote prompt proof proper
    proportion proposal protein protest protocol proud provision psychological punish purchase
    pure pursue python qualify quantity quarter queen query quiet quote racial radical railway
    random rank rare ratio raw ray react reaction reader reality rear rebuild recall recognition
    recommend recover recovery recruit reduction reform refuse regard regardless regime register
    regulate reject relevant relief rely remark remote render renew rent repair reply
    representation republic republican reputation request rescue reserve reset residence resist
    resolution resolve resort resource respect restaurant restore restrict resume retain retire
    retreat retrieve revenue reverse review revise revolution reward rhythm rice ride ring risk
    rival roll roman rome roof root rope rough route routine runtime rural rush russia russian
    sacred sad safety sail saint sake salary sale salt sample sand satellite satisfy save scan
    scene schedule scheme scholar scientific scope score screen script seal search secondary
    secret secretary sector seed self senate senior sensitive sentence september sequence serial
    server session settle settlement setup sex sexual shadow shake shallow shape sharp sheet
    shell shelter shift shine shirt shock shoe shoot shop shore shoulder shout shut sick sight
    signal signature silence silver simplify simultaneously sin singer sink sixth sixty skip sky
    slave slavery slice slide slight slip slope smart smell smile smoke smooth snow soccer
    software soil solar sole solid somehow somewhat somewhere sophisticated soul soup southeast
    southwest sovereign soviet spain spanish spatial specialist species specify spectrum spell
    sphere spirit spiritual split spokesman sponsor sport spot spread stable stack stadium stamp
    stare static statistic statue status steady steal steam steel stem stick stimulate stock
    storage storm straight strange strategic strategy stream strength stress stretch strict
    strike string strip strive stroke struggle stuff stupid subsequent substance substantial
    substitute succeed sugar suit suitable sum summary super superior supreme surgery surprise
    surrender survey suspect suspend sustain swallow sweet swim swing switch symbol sympathy
    symptom syndrome syntax tag tail talent tall tank tape target taste tax tea tear technical
    technique teeth telephone television temperature template temple temporary tendency tension
    terminal terrible terrorist theater theme theoretical therapy thereby thick thin thirty
    thread threaten throat throughout ticket tie tight tiny tip tire tissue token tone tongue
    tonight tool tooth topic toss tough tour tourism tourist tower toxic toy trace track traffic
    tragedy trail trait transfer transform transition translate transmission transmit transport
    trap treasure treaty trial triangle tribe trick trigger trip troop tropical truck trust tube
    tune tutorial twin twist ugly unable uncle undergo union unique universal universe unless
    unlike unusual update upgrade upload urban urge url usage useful user utility vacation vague
    valid valuable variable variant variation vast vector vegetable vehicle venture verb verify
    versus vertical vessel veteran victim victory video vienna violate violence violent virtual
    virus visible vision visitor visual vital vocal vol volunteer voter wage wake warn
    washington waste weak wealth wealthy web website wedding weekend weigh welcome welfare wheel
    whereby widespread wild william wilson wing winner wire wisdom wise withdraw witness
    workshop worry worship wound wrap wrapper writer yellow yield zone
"""
"""On many pages: a match says something. One form per stem; a word in no list says most."""
